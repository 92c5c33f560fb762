// Package presence tells the hub that the agent is alive, and finds out whether the hub or the member was restored from
// an older snapshot.
//
// While the line is open through which the hub sends requests, and the hub takes that for the sign of life, the lease is
// renewed every ten minutes; without, or when it is lost, as often as its duration asks for.
//
// Reads: the member's Lease on the hub; whether the line is open; the object of the member that changed last, and
// how far the member is.
// Writes: the Lease.
// Owns: of the Lease everything but its creation.
// Invariant: each renewal is made on the version that the last one left, so that a hub that went back in time is noticed
// by the next one.
// Next: the hub's cluster stage.
package presence
