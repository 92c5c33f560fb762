package contract

// Keys of the taints that the hub puts on a Cluster for what Ready says, both with
// effect NoSchedule.
const (
	// TaintClusterNotReady is on a Cluster whose Ready is False, or that has none yet.
	TaintClusterNotReady = "cluster.karmada.io/not-ready"
	// TaintClusterUnreachable is on a Cluster whose Ready is Unknown.
	TaintClusterUnreachable = "cluster.karmada.io/unreachable"
)

// TaintClusterUnschedulable is the key of the taint by which operators cordon a
// Cluster.
const TaintClusterUnschedulable = "cluster.karmada.io/unschedulable"
