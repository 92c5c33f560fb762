package remedy

import (
	"context"
	"errors"
	"fmt"
	"slices"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	remedyv1alpha1 "fairlead.dev/common/api/remedy/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/eventsink"
)

// Deps are the dependencies of the stage.
type Deps struct {
	// Events takes the events about Clusters.
	Events eventsink.Sink
}

// Reconciler keeps the remedy actions of Clusters.
type Reconciler struct {
	hubClient client.Client
	events    eventsink.Sink
}

// Register adds the stage to a manager.
func Register(mgr manager.Manager, deps Deps) error {
	if deps.Events == nil {
		return errors.New("registering the remedy stage: it needs an event sink")
	}
	r := &Reconciler{hubClient: mgr.GetClient(), events: deps.Events}
	err := kube.NewController(mgr, "remedy", 1).
		For(&clusterv1alpha1.Cluster{}, builder.WithPredicates(conditionChanged())).
		Watches(&remedyv1alpha1.Remedy{}, r.onRemedy()).
		Complete(kube.QuietConflicts(r))
	if err != nil {
		return fmt.Errorf("registering the remedy stage: %w", err)
	}
	return nil
}

// Reconcile sets the remedy actions of one Cluster.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	c := &clusterv1alpha1.Cluster{}
	if err := r.hubClient.Get(ctx, req.NamespacedName, c, client.UnsafeDisableDeepCopy); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	var remedies remedyv1alpha1.RemedyList
	if err := r.hubClient.List(ctx, &remedies, client.UnsafeDisableDeepCopy); err != nil {
		return reconcile.Result{}, fmt.Errorf("listing remedies: %w", err)
	}
	p := prescribe(c, remedies.Items)
	if slices.Equal(c.Status.RemedyActions, p.Actions) {
		return reconcile.Result{}, nil
	}
	c = c.DeepCopy()
	edit, err := kube.Begin(c)
	if err != nil {
		return reconcile.Result{}, err
	}
	c.Status.RemedyActions = p.Actions
	if _, err := edit.Commit(ctx, r.hubClient, contract.FieldManagerRemedy); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	ctrl.LoggerFrom(ctx).Info("Recording the remedy actions for a cluster", "actions", p.Actions, "remedies", p.By)
	r.events(prescribed(c, p))
	return reconcile.Result{}, nil
}
