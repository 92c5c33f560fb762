// Package presence renews the member's Lease, the heartbeat by which the hub knows that the agent is alive, and
// detects whether the hub or the member was restored from an older snapshot.
//
// While the line (the connection over which the hub sends requests) is open and the hub takes it as the heartbeat,
// the lease is renewed every ten minutes. Without a line, or when it is lost, the lease is renewed as often as its
// duration requires.
//
// Reads: the member's Lease on the hub; whether the line is open; the object of the member that changed last, and the
// member's latest resourceVersion.
// Writes: the Lease.
// Owns: every field of the Lease, but not its creation.
// Invariant: each renewal updates the resourceVersion that the previous one left, so that the next renewal notices a
// hub that went back in time.
// Next: the hub's cluster stage.
package presence
