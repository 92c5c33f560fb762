// Package setup puts the hub together: one manager with one cache, and the stages in the
// order in which data flows. It is the only package that knows them all.
//
// Reads: what the stages read, through one cache.
//
// Writes: nothing itself, but for the lease by which several hubs elect one.
//
// Owns: the manager and what its cache keeps.
//
// Invariant: the cache holds no manifests, no managed fields and no Secrets.
//
// Next: the stages; see the list in stages.go. Two parts of the hub that the documents call stages start elsewhere: connect,
// which every replica serves, also one that is not elected (connect.go), and backup, which copies the embedded API and starts
// with it (hub/cli).
//
// Stages meet at the API server. Five things are handed from one to another in memory here all the same; none of them is a
// fact that a restart would lose:
//
//   - failover asks the scheduler whether there is another place for an application before it leaves a cluster, and whether it
//     would come back before a copy goes: a second opinion on that would move applications to and fro.
//   - rollout asks the renderer of the binding stage whether a Work from before the strategy is what a revision renders: only
//     who renders it knows.
//   - the scheduler leaves what it has to say in the status of a binding to the status stage, which writes it along with the
//     first report; if there is none soon the scheduler writes it itself.
//   - the dependencies stage leaves to it likewise what it read of templates, for the next start; if that is not written, that start
//     reads them again.
//   - the cluster stage is told which agents have a line open, whose loss it sees within seconds.
package setup
