// Package clusterstatus reports the state of the member to the hub.
//
// Reads: the member's /readyz, version, discovery, nodes, pods and ResourceQuotas; its own Cluster on the hub.
// Writes: the status of that Cluster.
// Owns: in the status, unclaimedObjects (as execution counts them), agent, the conditions Ready (which the hub sets
// to Unknown when it hears nothing), CompleteAPIEnablements, CapacityUnknown and DeletionsHeld (as execution reports
// it), kubernetesVersion, apiEnablements, nodeSummary, resourceSummary and namespaceQuotas (of the namespaces in
// which execution has objects).
// Invariant: only changes are written. What could not be collected stays as it was, with one exception: if a ready
// member no longer lets the agent read nodes or pods, their sums are withdrawn, and CapacityUnknown says why. The
// agent's own counters go along with other changes, and cause a write of their own at most every five minutes.
// Next: the hub's cluster stage and its scheduler.
package clusterstatus
