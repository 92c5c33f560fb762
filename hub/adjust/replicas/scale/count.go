package scale

import (
	"fmt"
	"math"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
)

// Count is how many replicas the members have.
type Count struct {
	// Total is the sum over all clusters; meaningless if Wait is set.
	Total int32
	// By is what was counted for each cluster, in the order of the targets.
	By []workv1alpha2.TargetCluster
	// Excess are the clusters that report more than is counted, and how many they report.
	Excess []workv1alpha2.TargetCluster
	// Wait says why the total is not known now: a change in progress would be mistaken for what the members want.
	Wait string
}

// CountOf sums up the replicas that the clusters of a binding report.
func CountOf(b workv1alpha2.Binding) Count {
	spec, status := b.BindingSpec(), b.BindingStatus()
	switch {
	case len(spec.Clusters) == 0:
		return Count{Wait: "it is in no cluster"}
	case len(spec.GracefulEvictionTasks) > 0:
		return Count{Wait: "it is leaving a cluster"}
	case status.SchedulerObservedGeneration != b.GetGeneration():
		return Count{Wait: "the scheduler has not seen its latest change"}
	case len(status.AggregatedStatus) != len(spec.Clusters):
		return Count{Wait: "the clusters that report are not the clusters of the binding"}
	}
	items := make(map[string]*workv1alpha2.AggregatedStatusItem, len(status.AggregatedStatus))
	for i := range status.AggregatedStatus {
		items[status.AggregatedStatus[i].ClusterName] = &status.AggregatedStatus[i]
	}
	var c Count
	var total int64
	for _, target := range spec.Clusters {
		item := items[target.Name]
		n, wait := settled(item)
		if wait != "" {
			return Count{Wait: fmt.Sprintf("cluster %s %s", target.Name, wait)}
		}
		if most := most(target.Replicas); n > most {
			c.Excess = append(c.Excess, workv1alpha2.TargetCluster{Name: target.Name, Replicas: n})
			n = most
		}
		c.By = append(c.By, workv1alpha2.TargetCluster{Name: target.Name, Replicas: n})
		total += int64(n)
	}
	c.Total = int32(min(total, math.MaxInt32))
	return c
}

// allowance is how many replicas are counted for a cluster beyond twice its share.
const allowance = 10

// most is how many replicas are counted at most for a cluster with a share. An autoscaler that needs more gets there in
// a few steps, since its share grows with each; a cluster that lies does not get far in one.
func most(share int32) int32 {
	return int32(min(2*int64(max(share, 0))+allowance, math.MaxInt32))
}

// settled returns the replicas that a cluster has if they are what it wants: not during a rollout, which has more for a
// while, nor while their number changes.
func settled(item *workv1alpha2.AggregatedStatusItem) (replicas int32, wait string) {
	if item == nil || item.Status == nil || !item.Applied {
		return 0, "has not reported"
	}
	counts, _ := bindings.CountsOf(item) // the zero value if the status does not count replicas
	switch {
	case counts.Replicas == 0:
		return 0, "reports no replicas yet"
	case item.Health != workv1alpha1.Healthy || counts.Updated != counts.Replicas:
		return 0, "is not done with its latest change"
	}
	return counts.Replicas, ""
}
