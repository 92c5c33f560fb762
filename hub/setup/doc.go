// Package setup assembles the hub: one manager with one cache, and the stages in the order in which data flows. It is the only package that
// knows all stages.
//
// Reads: what the stages read, through one cache.
//
// Writes: nothing itself, except the lease for leader election.
//
// Owns: the manager and the contents of its cache.
//
// Invariant: the cache holds no manifests, no managed fields and no Secrets.
//
// Next: the stages; see the list in stages.go. Two parts of the hub that the documents call stages start elsewhere: connect, which every
// replica serves, even one that is not the leader (connect.go), and backup, which copies the embedded API and starts with it (hub/cli).
//
// Stages communicate through the API server. The exceptions are these eight, which pass data in memory. None is state that a restart would
// lose:
//
//   - failover asks the scheduler whether an application could be placed elsewhere before evicting it, and whether it would return
//     before removing its old copy: if the two decided differently, applications would move back and forth.
//   - rollout asks the renderer of the binding stage whether a Work from before the strategy equals what a revision renders.
//   - the scheduler defers routine status of a binding to the status stage, which writes it with the first report; if none comes soon, the
//     scheduler writes it itself.
//   - the dependencies stage likewise defers what it read of templates, which is for the next start; if it is not written, that start
//     reads them again.
//   - the binding stage counts the storage of each namespace's Works as the cache receives them (storage.Ledger, filled by the
//     cache's transform), since their manifests are not in the cache.
//   - the detector records which edits it has seen (edits.Seen): the binding and rollout stages send no others.
//   - the cluster stage tells whether members are still reconnecting after a start (disruption.Reconnects), for which failover and rollout
//     wait.
//   - the cluster stage learns which agents have a line open, so that it detects the loss of one within seconds.
package setup
