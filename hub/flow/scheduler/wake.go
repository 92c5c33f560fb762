package scheduler

import (
	"context"
	"fmt"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/flow/scheduler/hints"
)

// wake batches a change of a cluster for wakeConcerned, which enqueues the affected bindings. It may enqueue too many: a decision is cheap,
// and writes nothing if nothing changes.
func (r *reconciler) wake(change hints.Change, q requests) {
	if change.Event != hints.None && r.changes.note(q, change) {
		enqueueChanges(q)
	}
}

// wakeConcerned enqueues the bindings that the batched changes of clusters affect.
func (r *reconciler) wakeConcerned(ctx context.Context) error {
	changes, q := r.changes.take()
	if len(changes) == 0 {
		return nil
	}
	known := r.lastDecisions()
	bindings, err := r.perhapsConcerned(ctx, known, changes)
	if err != nil {
		r.changes.note(q, changes...)
		return fmt.Errorf("looking for bindings after %d changes of Clusters: %w", len(changes), err)
	}
	wakeOf(bindings, known, q, changes)
	return nil
}

// decisions holds the last decisions by binding, which the cache may not show yet.
type decisions struct {
	waiting      map[types.NamespacedName]string
	assumed      map[types.NamespacedName]placement
	notPreferred sets.Set[types.NamespacedName]
}

// lastDecisions returns a copy of the last decisions. A concurrent decision is either made before, and included, or after, and then knows
// the current clusters.
func (r *reconciler) lastDecisions() decisions {
	r.deciding.Lock()
	defer r.deciding.Unlock()
	return decisions{maps.Clone(r.waiting), maps.Clone(r.assumed), r.notPreferred.Clone()}
}

// wakeOf enqueues those of the bindings that changes affect.
func wakeOf(bindings []kube.Binding, known decisions, q requests, changes []hints.Change) {
	gathered, others := hints.Gather(changes), changedNames(changes)
	for _, b := range bindings {
		if !hints.Responsible(b) {
			if concernsOthers(others, b) {
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
		if gathered.Concern(b.BindingSpec(), at) {
			enqueue(q, true, b)
		}
	}
}

// perhapsConcerned returns the bindings that changes may affect, without listing all where possible. More capacity, which agents report all
// the time, affects the few bindings that wait for it or prefer another cluster. A cluster that became worse affects those that have it,
// and when a region is lost there are many such clusters. The kinds that a cluster serves affect the applications of these kinds, and all
// clusters report them when a definition is propagated.
func (r *reconciler) perhapsConcerned(ctx context.Context, known decisions, changes []hints.Change) ([]kube.Binding, error) {
	read := toRead(changes)
	if read.all {
		return r.kind.List(ctx, r.hubClient)
	}
	var bindings []kube.Binding
	for kind := range read.kinds {
		of, err := r.kind.OfKind(ctx, r.hubClient, kind)
		if err != nil {
			return nil, err
		}
		bindings = append(bindings, of...)
	}
	if !read.room && len(read.clusters) == 0 {
		return bindings, nil
	}
	reason, keys := workv1alpha2.ReasonUnschedulable, known.notPreferred.Union(sets.KeySet(known.waiting))
	if len(read.clusters) > 0 {
		reason, keys = "", keys.Union(sets.KeySet(known.assumed))
	}
	waiting, err := r.kind.Waiting(ctx, r.hubClient, reason)
	if err != nil {
		return nil, err
	}
	bindings = append(bindings, waiting...)
	for cluster := range read.clusters {
		there, err := r.kind.Naming(ctx, r.hubClient, cluster)
		if err != nil {
			return nil, err
		}
		bindings = append(bindings, there...)
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

// bindingsToRead says which bindings changes of clusters may affect.
type bindingsToRead struct {
	// all says that any binding may be affected.
	all bool
	// room says that there may be capacity for the bindings that wait for it or prefer another cluster.
	room bool
	// clusters are those whose change affects the bindings that have them, and those that wait for whatever reason.
	clusters sets.Set[string]
	// kinds are those of which some clusters now serve other versions.
	kinds sets.Set[schema.GroupKind]
}

func toRead(changes []hints.Change) bindingsToRead {
	out := bindingsToRead{clusters: sets.Set[string]{}, kinds: sets.Set[schema.GroupKind]{}}
	for i := range changes {
		switch c := &changes[i]; c.Event {
		case hints.None:
		case hints.Capacity:
			out.room = true
		case hints.API:
			out.room = out.room || c.Roomier
			for kind := range c.Kinds {
				out.kinds.Insert(kind)
			}
			if c.Completeness {
				out.clusters.Insert(c.After.Name)
			}
		case hints.Worse:
			out.clusters.Insert(c.After.Name)
		case hints.Feasibility:
			out.all = true
		}
	}
	return out
}
