package replicas

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
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

// onBinding asks for the binding of an autoscaler that changed, and for those of the
// autoscalers that scale a template which came or changed.
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

// reported lets through the bindings of divided Deployments about which something was
// reported or decided.
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

// wants is what autoscalers scale, by the key of their binding. It is safe for use by many
// goroutines.
type wants struct {
	mu      sync.Mutex
	targets map[types.NamespacedName]scale.Target
}

func newWants() *wants { return &wants{targets: map[types.NamespacedName]scale.Target{}} }

func (w *wants) set(key types.NamespacedName, t scale.Target) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if t == (scale.Target{}) {
		delete(w.targets, key)
		return
	}
	w.targets[key] = t
}

// of returns the keys of those who scale the template of a binding.
func (w *wants) of(b *workv1alpha2.ResourceBinding) []types.NamespacedName {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []types.NamespacedName
	for key, t := range w.targets {
		if key.Namespace == b.Namespace && t.Is(b.Spec.Resource) {
			out = append(out, key)
		}
	}
	return out
}
