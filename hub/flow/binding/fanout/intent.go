package fanout

import (
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
)

// Reasons say why Works are deleted that a binding does not want any more.
type Reasons struct {
	// Removed says that the binding is being deleted, or has no targets. An eviction takes precedence: a dependency leaves its last cluster
	// for the same reason as the workload. A binding that is being deleted has no evictions.
	Removed bool
	// Departed are the namespaces of the clusters that are known to leave the fleet.
	Departed sets.Set[string]
	// Evicted is when the application was last evicted, by the namespace of the cluster.
	Evicted map[string]time.Time
}

// Evict adds the evictions that a binding records. A move to preferred clusters, and an eviction that was taken back, do not count. The
// function namespace returns the namespace of a cluster.
func (r *Reasons) Evict(evictions []workv1alpha2.Eviction, namespace func(cluster string) string) {
	if r.Evicted == nil {
		r.Evicted = map[string]time.Time{}
	}
	for i := range evictions {
		e := &evictions[i]
		if e.Reason == workv1alpha2.EvictionPreferred || e.How == workv1alpha2.EvictionReturned {
			continue
		}
		if key := namespace(e.From); r.Evicted[key].Before(e.At.Time) {
			r.Evicted[key] = e.At.Time
		}
	}
}

// intent returns why a Work is deleted. A Work that was created after the last eviction from its cluster is deleted for another reason,
// because the application had come back.
func (r *Reasons) intent(w *workv1alpha1.Work) string {
	evicted, ok := r.Evicted[w.Namespace]
	switch {
	case r.Departed.Has(w.Namespace):
		return contract.DeletionClusterLeft
	case ok && !w.CreationTimestamp.After(evicted):
		return contract.DeletionEvicted
	case r.Removed:
		return contract.DeletionRemoved
	default:
		return contract.DeletionMoved
	}
}
