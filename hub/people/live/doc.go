// Package live sends open pages what changes on them: one stream of server-sent events for each,
// on which the fragments go that differ from those that were sent last.
//
//	Reads:     what publishers say that changed; the page's own function makes the fragments.
//	Writes:    nothing.
//	Owns:      the subscriptions of the open streams, in memory only.
//	Invariant: publishing never waits for a reader, and a slow page is made again the less often.
//	Next:      hub/people/dashboard serves the streams.
package live
