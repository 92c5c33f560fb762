package fanout

import (
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
)

// Reasons are what is known of why Works go that a binding does not want any more.
type Reasons struct {
	// Removed says that the binding is being deleted, or that nothing is to be anywhere. Where it was evicted from counts before: what a
	// workload needed leaves its last cluster for the reason for which the workload does. Of a binding that is being deleted no
	// evictions are noted.
	Removed bool
	// Departed are the namespaces of the clusters that are known to leave the fleet.
	Departed sets.Set[string]
	// Evicted is when the application was evicted last, by the namespace of the cluster.
	Evicted map[string]time.Time
}

// Evict notes the evictions that a binding remembers. What the scheduler moved in its own
// time, and what stayed after all, was not evicted. The function namespace returns that of a
// cluster.
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

// intent is why a Work goes. One that was made after the last eviction from its cluster goes
// for another reason: the application had come back.
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
