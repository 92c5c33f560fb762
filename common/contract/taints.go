package contract

// Keys of the taints that the hub puts on a Cluster according to its condition Ready, both with effect NoSchedule.
const (
	// TaintClusterNotReady is on a Cluster whose Ready is False or missing.
	TaintClusterNotReady = "cluster.karmada.io/not-ready"
	// TaintClusterUnreachable is on a Cluster whose Ready is Unknown.
	TaintClusterUnreachable = "cluster.karmada.io/unreachable"
)

// TaintClusterUnschedulable is the key of the taint by which operators cordon a
// Cluster.
const TaintClusterUnschedulable = "cluster.karmada.io/unschedulable"
