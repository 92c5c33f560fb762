package replicas

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/workqueue"

	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/adjust/replicas/scale"
)

type requests = workqueue.TypedRateLimitingInterface[reconcile.Request]

func registerMarker(mgr manager.Manager, m *marker) error {
	err := kube.NewController(mgr, "replicas-marker", 1).
		Watches(&workv1alpha2.ResourceBinding{}, m.onBinding()).
		WatchesRawSource(kube.RulesChanged(m.interpreter, m.onRules)).
		Complete(kube.QuietConflicts(m))
	if err != nil {
		return fmt.Errorf("making the controller that marks scale targets: %w", err)
	}
	return nil
}

func registerWriteback(mgr manager.Manager, w *writeback) error {
	err := kube.NewController(mgr, "replicas-writeback", 1).
		For(&workv1alpha2.ResourceBinding{}, builder.WithPredicates(reported())).
		Complete(kube.QuietConflicts(w))
	if err != nil {
		return fmt.Errorf("making the controller that writes replicas back: %w", err)
	}
	return nil
}

// onBinding enqueues the binding of an autoscaler that changed, and the bindings of those autoscalers that scale a
// template whose binding was created or changed.
func (m *marker) onBinding() handler.EventHandler {
	ask := func(q requests, b *workv1alpha2.ResourceBinding) {
		if scale.IsAutoscaler(b.Spec.Resource) {
			q.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: b.Namespace, Name: b.Name}})
		}
		for _, key := range m.wants.of(b) {
			q.Add(reconcile.Request{NamespacedName: key})
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q requests) {
			if b, ok := e.Object.(*workv1alpha2.ResourceBinding); ok {
				ask(q, b)
			}
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q requests) {
			before, ok := e.ObjectOld.(*workv1alpha2.ResourceBinding)
			after, ok2 := e.ObjectNew.(*workv1alpha2.ResourceBinding)
			if ok && ok2 && (before.Spec.Resource != after.Spec.Resource ||
				before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() || scale.Marked(before) != scale.Marked(after)) {
				ask(q, after)
			}
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q requests) {
			if b, ok := e.Object.(*workv1alpha2.ResourceBinding); ok && scale.IsAutoscaler(b.Spec.Resource) {
				ask(q, b)
			}
		},
	}
}

// onRules enqueues the autoscalers of targets whose interpreter rules changed: there may now be a rule for retaining
// replicas.
func (m *marker) onRules(ctx context.Context, affects func(schema.GroupVersionKind) bool, q requests) {
	for key, t := range m.wants.all() {
		kinds, err := m.kindsOf(ctx, key.Namespace, t)
		if err != nil || slices.ContainsFunc(kinds, affects) { // the reconcile meets the same error, and reports it
			q.Add(reconcile.Request{NamespacedName: key})
		}
	}
}

// reported passes the bindings of divided Deployments when their status or spec changed.
func reported() predicate.Predicate {
	concerned := func(b *workv1alpha2.ResourceBinding) bool {
		return isDeployment(b.Spec.Resource) && bindings.Divided(&b.Spec)
	}
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool {
			b, ok := e.Object.(*workv1alpha2.ResourceBinding)
			return ok && concerned(b)
		},
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok := e.ObjectOld.(*workv1alpha2.ResourceBinding)
			after, ok2 := e.ObjectNew.(*workv1alpha2.ResourceBinding)
			return ok && ok2 && concerned(after) && (before.Generation != after.Generation ||
				before.Status.SchedulerObservedGeneration != after.Status.SchedulerObservedGeneration ||
				!equality.Semantic.DeepEqual(before.Status.AggregatedStatus, after.Status.AggregatedStatus))
		},
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
}

// wants has the targets of autoscalers, by the key of their binding. It is safe for concurrent use.
type wants struct {
	mu      sync.Mutex
	targets map[types.NamespacedName]scale.Target
	// by indexes the autoscalers by target, since every template that changes is looked up.
	by map[scaled]sets.Set[types.NamespacedName]
}

// scaled identifies a target, whatever its API version.
type scaled struct {
	namespace, name string
	kind            schema.GroupKind
}

func scaledBy(key types.NamespacedName, t scale.Target) scaled {
	return scaled{namespace: key.Namespace, name: t.Name, kind: t.GroupVersionKind().GroupKind()}
}

func newWants() *wants {
	return &wants{targets: map[types.NamespacedName]scale.Target{}, by: map[scaled]sets.Set[types.NamespacedName]{}}
}

func (w *wants) set(key types.NamespacedName, t scale.Target) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if target, ok := w.targets[key]; ok {
		before := scaledBy(key, target)
		if w.by[before].Delete(key); w.by[before].Len() == 0 {
			delete(w.by, before)
		}
		delete(w.targets, key)
	}
	if t == (scale.Target{}) {
		return
	}
	now := scaledBy(key, t)
	if w.by[now] == nil {
		w.by[now] = sets.Set[types.NamespacedName]{}
	}
	w.targets[key] = t
	w.by[now].Insert(key)
}

// of returns the keys of the autoscalers of a binding's template.
func (w *wants) of(b *workv1alpha2.ResourceBinding) []types.NamespacedName {
	w.mu.Lock()
	defer w.mu.Unlock()
	ref := b.Spec.Resource
	kind := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind()
	return w.by[scaled{namespace: b.Namespace, name: ref.Name, kind: kind}].UnsortedList()
}

// all returns the present targets of all autoscalers.
func (w *wants) all() map[types.NamespacedName]scale.Target {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.targets)
}
