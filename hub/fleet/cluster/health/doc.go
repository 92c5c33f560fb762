// Package health decides whether a member is still heard from. It only thinks: what
// was seen and when goes in, what to remember and what Ready must become comes out.
//
// Time is that of the hub alone. A lease counts as renewed when the hub sees that its
// renewTime is another one than before, so the clock of a member may be wrong and may
// jump. What the hub has seen it keeps in memory only: after a restart every grace
// period starts over, so that a hub that was away does not declare its members dead.
//
// A member that falls silent again and again is believed more slowly each time that it
// is back: its taints stay meanwhile, so that nothing is sent to and fro.
package health
