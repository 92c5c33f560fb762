package binding

import (
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"fairlead.dev/common/contract"
)

// largeFrom is the number of Works from which a binding is a large one: two of the largest batches. It may hold its worker for seconds, any other
// for a moment.
const largeFrom = 2 * maxBatch

// takeSlot lets the worker that has a binding go on to write so many of its Works. Where they are many and other large bindings hold as many
// workers as they may, it returns fairqueue.ErrWaits.
func (r *reconciler) takeSlot(req reconcile.Request, works int) error {
	if works < largeFrom {
		return nil
	}
	return r.slot(req)
}

// unsettled counts the Works that a binding is about to be rendered into and those that it no more has in targets: no more than these are written
// and deleted. Those that are known to be as they should be do not count, however many they are.
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
