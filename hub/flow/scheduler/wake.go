package scheduler

import (
	"context"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/flow/scheduler/hints"
)

// wake has the bindings looked at again that news concern. What else a decision would
// come to is for the decision to say; it is cheap, and writes nothing if nothing
// changes.
func (r *reconciler) wake(ctx context.Context, change hints.Change, q requests) {
	switch change.Event {
	case hints.None:
		return
	case hints.Feasibility:
		if r.changes.note(change, q) {
			enqueueChanges(q)
		}
		return
	case hints.Capacity, hints.Worse:
	}
	known := r.lastDecisions()
	bindings, err := r.perhapsConcerned(ctx, change, known)
	if err != nil {
		// The cache answers once it has started, and this is called after that.
		ctrl.LoggerFrom(ctx).Error(err, "Looking for bindings after a Cluster changed")
		return
	}
	wakeOf(bindings, known, q, change)
}

// wakeAll looks which of all bindings the noted changes of clusters concern.
func (r *reconciler) wakeAll(ctx context.Context) error {
	changes, q := r.changes.take()
	if len(changes) == 0 {
		return nil
	}
	known := r.lastDecisions()
	bindings, err := r.kind.List(ctx, r.hubClient)
	if err != nil {
		r.changes.note(changes[0], q, changes[1:]...)
		return fmt.Errorf("looking for bindings after %d Clusters changed: %w", len(changes), err)
	}
	wakeOf(bindings, known, q, changes...)
	return nil
}

// decisions is what the last decisions came to, by binding, which the cache may not show yet.
type decisions struct {
	waiting      map[types.NamespacedName]string
	assumed      map[types.NamespacedName]placement
	notPreferred sets.Set[types.NamespacedName]
}

// lastDecisions returns what decisions came to. Whoever decides at this moment decides before us, and is known by now, or after us, and
// knows the clusters as they are.
func (r *reconciler) lastDecisions() decisions {
	r.deciding.Lock()
	defer r.deciding.Unlock()
	return decisions{maps.Clone(r.waiting), maps.Clone(r.assumed), r.notPreferred.Clone()}
}

// wakeOf enqueues of some bindings those that changes concern.
func wakeOf(bindings []kube.Binding, known decisions, q requests, changes ...hints.Change) {
	for _, b := range bindings {
		if !hints.Responsible(b) {
			if slices.ContainsFunc(changes, func(c hints.Change) bool { return concernsOthers(c, b) }) {
				enqueue(q, true, b)
			}
			continue
		}
		key, at := client.ObjectKeyFromObject(b), hints.StateOf(b)
		if p, ok := known.assumed[key]; ok && p.generation == b.GetGeneration() {
			at.Targets = p.targets
		}
		if reason, ok := known.waiting[key]; ok {
			at.Waits = reason
		}
		at.NotPreferred = known.notPreferred.Has(key)
		if hints.Concerns(b.BindingSpec(), at, changes...) {
			enqueue(q, true, b)
		}
	}
}

// perhapsConcerned returns the bindings that news may concern. Room concerns those that wait for it or
// would rather be elsewhere, which are few, and agents tell of it all the time; a worse cluster concerns
// those that have it, and when a region is lost there are many of them.
func (r *reconciler) perhapsConcerned(ctx context.Context, change hints.Change, known decisions) ([]kube.Binding, error) {
	bindings, err := r.kind.Waiting(ctx, r.hubClient, workv1alpha2.ReasonUnschedulable)
	keys := known.notPreferred.Union(sets.KeySet(known.waiting))
	if change.Event == hints.Worse {
		if bindings, err = r.kind.Waiting(ctx, r.hubClient, ""); err != nil {
			return nil, err
		}
		var there []kube.Binding
		there, err = r.kind.Naming(ctx, r.hubClient, change.After.Name)
		bindings = append(bindings, there...)
		keys = keys.Union(sets.KeySet(known.assumed))
	}
	if err != nil {
		return nil, err
	}
	for _, b := range bindings {
		keys.Delete(client.ObjectKeyFromObject(b))
	}
	for key := range keys {
		b := r.kind.New()
		err := r.hubClient.Get(ctx, key, b, client.UnsafeDisableDeepCopy)
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return nil, fmt.Errorf("reading %q: %w", key, err)
		default:
			bindings = append(bindings, b)
		}
	}
	return bindings, nil
}
