// Package hollow runs agents that have no member behind them: thousands in one process, for tests and benches of a hub
// with many clusters.
//
// To the hub such an agent is what a real one is. It has connections, a certificate and the rights of its own, watches its
// Works, its Cluster and how kinds are interpreted, renews its lease, tells how its member is, keeps the finalizer of its
// Works until they are deleted, and writes their status as a real agent does: one patch with what is new. Its credentials,
// how it connects and asks, the lease, and the line where there are to be lines, are kept by the code of real agents. What a
// hollow agent does not do is apply anything, nor let operators in: what came of a manifest is said by an Outcome.
//
//	fleet, err := hollow.New(ctx, hollow.Options{Hub: config, PKI: pki, Dir: dir}) // runs until ctx ends
//	err = fleet.Join(ctx, builder.MakeCluster("edge-1").Region("north").Obj(), …)
//	fleet.Silence("edge-1")                                          // as if its line were cut
//	fleet.Return("edge-1")
//	fleet.Tell(func(cluster string, manifest *unstructured.Unstructured) hollow.Outcome {
//		if cluster == "edge-2" {
//			return hollow.Failing(manifest)                          // from now on, and of what was told before
//		}
//		return hollow.Running(manifest)
//	})
//
// The clusters are registered in bulk: what the hub would make for a member that joins with a token is made by an
// administrator, and the certificates of the agents are signed here, with the key of the hub's own authority. So only a hub
// whose data directory is at hand can have hollow agents. How joining itself fares is measured by test/bench/reconnect. The
// hub that gives the agents their rights must be running.
package hollow
