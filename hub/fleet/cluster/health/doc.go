// Package health decides whether the hub still hears from a member. It is pure: observations and their times go in, the
// new memory and the Ready condition come out.
//
// All times are by the hub's clock. A lease counts as renewed when the hub sees a renewTime that differs from the
// previous one, so a member's clock may be wrong and may jump. What the hub has observed is kept in memory only: after
// a restart every grace period starts over, so that a hub that was down does not declare its members dead.
//
// Most agents keep a line open to the hub. An open line counts as a heartbeat, and the lease is then renewed rarely.
// When the line is lost, the member becomes Unknown after a few seconds, unless there is a reason to wait: see
// disconnected. If the lease is renewed after that, it counts as usual, so an agent that has lost its line for good is
// judged like one that never had one.
//
// After the hub starts, thousands of agents reconnect, as fast as its API lets them in. While they keep arriving, the
// hub waits for the others: see disruption.HeardBy. Only the loss of a line that was opened after the start counts at
// once.
//
// A member that falls silent repeatedly must be heard for longer each time before it counts as back. Its taints stay
// until then, so that workloads do not move to and fro.
package health
