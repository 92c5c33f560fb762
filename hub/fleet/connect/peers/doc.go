// Package peers lets the replicas of a hub use each other's lines. An agent keeps its line with one of them, whichever it reached; a request that comes
// to another is forwarded there, once, and the replica that works knows of every line, whoever holds it.
//
//	Reads:     the Lease of each replica, through a Directory; the lines of this replica, through Lines.
//	Writes:    the Lease of this replica; it deletes those of replicas that are gone.
//	Owns:      the port at which replicas call each other, and what is known of the lines of others, in memory only.
//	Invariant: nobody but a replica is answered; a request is forwarded once; the end of a replica is never taken for the end of its members.
//	Next:      hub/fleet/connect sends requests through Transport, hub/fleet/cluster asks Line whether a cluster is there.
//
// # How replicas know each other
//
// Each replica makes a key when it starts, which never leaves its memory, and writes the hash of the public one (the pin) and its address into a Lease of
// the hub's own API. Both ends of a connection show a certificate that nobody signed, and each holds that of the other against the pins in the Leases:
// TLS proves that whoever shows a certificate has its key. So a connection is trusted exactly if who opened or took it can write Leases in the hub's
// system namespace, which is what makes a replica: administrators of that API can, agents and tenants cannot. That needs no authority of the hub's own,
// which a hub against somebody else's API does not have, nothing to renew, hand over or exchange with `hub ca`, and no files; and who steals the
// disk of a machine has no key. A replica that starts again is another one, with another key; the old Lease is deleted by itself at a planned
// stop, and otherwise by the others, when it has not changed for a while as they see it: the clocks of machines are not compared.
//
// # What they tell each other
//
// Each replica asks each other one for its lines (GET /lines), and gets them on that connection with every change and a heartbeat a second, for as long as both run.
// Five seconds without a word are the end of it: the replica may be gone, or the network between, and its lines count as ended with a goodbye, so that their
// clusters have the whole grace period to show up at another replica. A heartbeat of the leader says to each other whether it has all of that one's lines. Who
// has not been told so for five seconds has its agents renew their leases: see Presence.
//
// With each line goes a hash of its session, by which agents are told apart that have one certificate. Before a replica opens a line it asks the ones that
// tell of another session (POST, to the path at which agents open theirs), and so does one of two replicas that have opened lines of two
// sessions. Replicas of before sessions tell none, and are not asked.
//
// Forwarded requests are HTTP/1.1, each on a connection of its own while it lasts, so that an upgrade is what it is everywhere else and a reader that stalls
// holds up nobody. They carry Fairlead-Hop, are answered with 508 where they would be forwarded again, and their Fairlead-User is believed because they come from a
// replica, which has authorized them. Both replicas keep their own limits.
package peers
