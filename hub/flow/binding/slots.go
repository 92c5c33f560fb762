package binding

import (
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"fairlead.dev/common/contract"
)

// largeFrom is the number of Works from which a binding is large: two of the largest batches. It may occupy its worker for seconds, others
// only for a moment.
const largeFrom = 2 * maxBatch

// takeSlot lets a worker write so many Works of its binding. If these are many and other large bindings occupy as many workers as they may,
// it returns fairqueue.ErrWaits.
func (r *reconciler) takeSlot(req reconcile.Request, works int) error {
	if works < largeFrom {
		return nil
	}
	return r.slot(req)
}

// unsettled counts the Works of a binding that must be rendered, and those in clusters that are no targets any more. No more than these are
// written and deleted. Works that are known to be up to date do not count.
func (r *reconciler) unsettled(s *scope, req reconcile.Request) int {
	n := r.leaving(s) + len(r.strays.of(req.NamespacedName))
	if s.template == nil {
		return n
	}
	for _, target := range s.targets {
		if s.clusters[target.Name] != nil && !s.unchanged.Has(contract.ExecutionNamespace(r.prefix, target.Name)) {
			n++
		}
	}
	return n
}
