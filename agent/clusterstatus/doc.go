// Package clusterstatus tells the hub how the member is.
//
// Reads: the member's /readyz, version, discovery, nodes, pods and ResourceQuotas; its own Cluster
// and its Works on the hub.
// Writes: the status of that Cluster.
// Owns: of the status, unclaimedObjects (as execution counts them), agent, the conditions Ready
// (the hub writes Unknown when it hears nothing), CompleteAPIEnablements, CapacityUnknown and
// DeletionsHeld (as execution has it), kubernetesVersion, apiEnablements, nodeSummary,
// resourceSummary and namespaceQuotas.
// Invariant: nothing is written to the hub but changes; what could not be
// collected stays as it was, but for nodes and pods that the member does not show any more though it
// is ready: their sums are taken back, and CapacityUnknown says why. What the agent counts of itself goes with what is written anyway, and
// has a write of its own every five minutes at most.
// Next: the hub's cluster stage and its scheduler.
package clusterstatus
