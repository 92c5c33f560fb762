package execution

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/execution/plan"
)

// errNotLooked says that it is not known yet which objects of the hub the member has.
var errNotLooked = errors.New("not all Works were looked at since the agent started")

// Namespaces returns the namespaces of the member with objects of the hub, judged by objects that have the marks of
// its Works or were applied by this agent. A Work alone is no proof: a compromised hub could write into it any
// namespace that it wants to learn about. It fails until all Works were reconciled since the agent started and their
// kinds synced; until then the previous report holds.
func (r *Reconciler) Namespaces(ctx context.Context) (sets.Set[string], error) {
	if !r.looked.Load() {
		if err := r.lookedAtAll(ctx); err != nil {
			return nil, err
		}
		r.looked.Store(true)
	}
	out := sets.New[string]()
	add := func(object plan.Object) {
		namespace := object.Namespace
		if plan.IsNamespace(object) {
			namespace = object.Name
		}
		if namespace != "" && (len(r.namespaces) == 0 || slices.Contains(r.namespaces, namespace)) {
			out.Insert(namespace)
		}
	}
	r.kinds.Each(func(obj *unstructured.Unstructured) {
		if _, ok := r.ownWork(obj); ok {
			add(plan.ObjectOf(obj))
		}
	})
	for _, object := range r.memory.Recorded() { // some kinds have no informer
		add(object)
	}
	return out, nil
}

// lookedAtAll fails unless all Works, except ending ones, were reconciled since the agent started, and all informers
// have synced.
func (r *Reconciler) lookedAtAll(ctx context.Context) error {
	if !r.works.HubSynced() || r.kinds.IsFilling() {
		return errNotLooked
	}
	works, err := r.all(ctx)
	if err != nil {
		return fmt.Errorf("looking whether all Works were looked at: %w", err)
	}
	for i := range works {
		if work := &works[i]; work.DeletionTimestamp.IsZero() && !r.memory.IsLooked(client.ObjectKeyFromObject(work)) {
			return errNotLooked
		}
	}
	return nil
}
