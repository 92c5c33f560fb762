// Package health decides whether a member is still heard from. It only thinks: what
// was seen and when goes in, what to remember and what Ready must become comes out.
//
// All times are by the clock of the hub. A lease counts as renewed when the hub sees that its
// renewTime is another one than before, so the clock of a member may be wrong and may
// jump. What the hub has seen it keeps in memory only: after a restart every grace
// period starts over, so that a hub that was away does not declare its members dead.
//
// Most agents keep a line open to the hub. While it is up the member is heard, and its lease is renewed rarely; when it
// is lost the member is unknown after a few seconds, unless there is a reason to wait: see disconnected. What is heard by
// the lease after that counts as ever, so that an agent that has no line any more is judged like one that never had one.
//
// A member that falls silent again and again is believed more slowly each time that it
// is back: its taints stay meanwhile, so that nothing is sent to and fro.
package health
