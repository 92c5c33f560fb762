// Package peers lets the replicas of a hub use each other's lines. An agent has its line with whichever replica it
// reached. A request that arrives at another replica is forwarded there, once, and the leader knows of every line,
// whoever holds it.
//
//	Reads:     the Lease of each replica, through a Directory; the lines of this replica, through Lines.
//	Writes:    the Lease of this replica; it deletes those of replicas that are gone.
//	Owns:      the port at which replicas call each other, and what is known of the others' lines, in memory only.
//	Invariant: only replicas are served; a request is forwarded once; the loss of a replica is never taken
//	           for the loss of its members.
//	Next:      hub/fleet/connect sends requests through Transport; hub/fleet/cluster calls Line to learn
//	           whether a cluster is connected.
//
// # Authentication between replicas
//
// At its start each replica makes a key, which never leaves its memory. It writes its address and the hash of the
// public key (the pin) into a Lease of the hub's own API. Both ends of a connection present a self-signed certificate,
// and each compares the other's with the pins in the Leases; TLS proves that the other end has the key. A connection is
// thus trusted if and only if its other end can write Leases in the hub's system namespace. Administrators of that API
// can; agents and tenants cannot.
//
// This needs no certificate authority, which a hub that runs against somebody else's API does not have. There is
// nothing to renew, hand over or exchange with `hub ca`, and there are no files: whoever steals a machine's disk gets
// no key. A replica that restarts is a new replica with a new key. It deletes its Lease when it is stopped in an
// orderly way; otherwise the others delete it once they have seen no change for LeaseDuration. The clocks of machines
// are never compared.
//
// # The protocol
//
// Each replica requests the lines of each other one (GET /lines). The response is a stream of the lines, every change,
// and a heartbeat every second, for as long as both run. After five seconds without a message the stream has failed:
// the replica or the network between may be gone. Its lines then count as ended with a goodbye, so that their clusters
// have the whole grace period to appear at another replica. The leader's heartbeats tell each other replica whether the
// leader has all of its lines. A replica that has not been told so for five seconds has its agents renew their leases:
// see Presence.
//
// Each line carries a hash of its session, which tells agents with the same certificate apart. Before a replica opens a
// line, it asks those that report another session of the cluster (POST, to the path at which agents open lines). So
// does one of two replicas that have opened lines of two sessions. Replicas of versions without sessions report none,
// and are not asked.
//
// Forwarded requests are HTTP/1.1, each on a connection of its own while it lasts, so that upgrades work as everywhere
// else and a reader that stalls blocks nobody else. They carry Fairlead-Hop; a request that would be forwarded again is
// answered with 508. Their Fairlead-User is trusted because it comes from a replica, which has authorized the request.
// Both replicas apply their own limits.
package peers
