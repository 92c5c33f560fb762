// Package live keeps open pages up to date. Each page has one stream of server-sent events, on which it gets the
// fragments that changed.
//
//	Reads:     the changes that publishers report; the page's own function renders the fragments.
//	Writes:    nothing.
//	Owns:      the subscriptions of the open streams, in memory only.
//	Invariant: publishing never waits for a reader, and the slower a page renders, the less often it is
//	           rendered.
//	Next:      hub/people/dashboard serves the streams.
package live
