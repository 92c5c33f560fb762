package scheduler

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/flow/scheduler/decide"
	"fairlead.dev/hub/flow/scheduler/hints"
)

// withdraw removes the clusters that the namespace does not allow from a binding that this scheduler is not responsible for. The author of
// a policy may name another scheduler or suspend scheduling, but must not thereby keep clusters that the namespace does not allow.
func (r *reconciler) withdraw(ctx context.Context, b kube.Binding) error {
	spec := b.BindingSpec()
	if b.GetNamespace() == "" || !b.GetDeletionTimestamp().IsZero() || len(spec.Clusters)+len(spec.GracefulEvictionTasks) == 0 {
		return nil
	}
	ns, err := kube.NamespaceNamed(ctx, r.hubClient, r.hubReader, b.GetNamespace())
	if ns == nil || err != nil {
		return err
	}
	by := &basis{clusters: r.snapshot.Clusters(), namespace: ns}
	d := decide.Decision{Leave: decide.NotAllowed(decide.Input{Spec: spec, Clusters: by.clusters, Allowance: selector.AllowanceOf(ns)})}
	if len(d.Leave) == 0 {
		return nil
	}
	leaves := sets.New[string]()
	for _, l := range d.Leave {
		leaves.Insert(l.Cluster)
	}
	if err := r.confirm(ctx, b, leaves, by); err != nil {
		return err
	}
	edit, err := kube.Begin(b)
	if err != nil {
		return err
	}
	if err := leave(b, d, metav1.NewTime(r.clock.Now())); err != nil {
		return err
	}
	spec.Clusters = slices.DeleteFunc(slices.Clone(spec.Clusters), func(t workv1alpha2.TargetCluster) bool {
		return slices.ContainsFunc(d.Leave, func(l decide.Departure) bool { return l.Cluster == t.Name })
	})
	if _, err := edit.Commit(ctx, r.hubClient, contract.FieldManagerScheduler); err != nil {
		return fmt.Errorf("taking %q out of clusters that its namespace may not use: %w", b.GetName(), err)
	}
	for _, l := range d.Leave {
		ctrl.LoggerFrom(ctx).Info("Left a cluster that the namespace may not use", "Cluster", l.Cluster)
		for _, e := range departed(bindings.TemplateRef(b), b, l) {
			r.events(e)
		}
	}
	return nil
}

// namespaces enqueues the bindings of a namespace when the clusters that it allows change. The initial list needs no handling: every
// binding is reconciled after a start.
func (r *reconciler) namespaces() handler.EventHandler {
	return handler.Funcs{
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q requests) {
			if kube.AllowanceChanged(e.ObjectOld, e.ObjectNew) {
				r.wakeNamespace(ctx, e.ObjectNew.GetName(), q)
			}
		},
	}
}

func (r *reconciler) wakeNamespace(ctx context.Context, namespace string, q requests) {
	found, err := r.kind.List(ctx, r.hubClient, client.InNamespace(namespace))
	if err != nil {
		// Not expected: handlers run after the cache has started.
		ctrl.LoggerFrom(ctx).Error(err, "Looking for bindings after a Namespace changed")
		return
	}
	for _, b := range found {
		enqueue(q, true, b)
	}
}

// changedNames returns the existing clusters that changed in a way that filters depend on.
func changedNames(changes []hints.Change) sets.Set[string] {
	out := sets.Set[string]{}
	for _, c := range changes {
		if c.Event == hints.Feasibility && c.After != nil {
			out.Insert(c.After.Name)
		}
	}
	return out
}

// concernsOthers returns whether a binding that this scheduler is not responsible for may have to leave one of the changed clusters.
func concernsOthers(changed sets.Set[string], b kube.Binding) bool {
	return b.GetNamespace() != "" && len(changed) > 0 && slices.ContainsFunc(bindings.Targets(b.BindingSpec()), func(t workv1alpha2.TargetCluster) bool {
		return changed.Has(t.Name)
	})
}
