// Package hollow runs agents that have no member: thousands in one process, for tests and benches of a hub with many
// clusters.
//
// The hub cannot tell such an agent from a real one. It has its own connections, certificate and rights, watches its
// Works, its Cluster and the interpreter customizations, renews its lease, reports the status of its member, keeps the
// finalizer of its Works until they are deleted, and writes their status as a real agent does: one patch with the
// changes. Credentials, connections, requests, the lease and the line (if there are lines) are handled by the code of
// real agents. A hollow agent applies nothing and lets no operators in; an Outcome says what became of each manifest.
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
// The clusters are registered in bulk: an administrator creates the objects that the hub would create for a member that
// joins with a token, and the agents' certificates are signed here with the key of the hub's authority. So the data
// directory of the hub must be at hand. Joining itself is measured by test/bench/reconnect. The hub must be running,
// because it grants the agents their rights.
package hollow
