package failover

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/disruption"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/eventsink"
)

// fleet is the only request of the controller for the condition EvictionSuspended, which concerns all Clusters at once.
const fleet = "fleet"

// disruptionReporter sets on Clusters whether evictions because of their silence are suspended.
type disruptionReporter struct {
	hubClient client.Client
	events    eventsink.Sink
	clock     clock.PassiveClock
}

func registerReporter(mgr manager.Manager, deps Deps) error {
	r := &disruptionReporter{hubClient: mgr.GetClient(), events: deps.Events, clock: deps.Clock}
	toFleet := func(context.Context, client.Object) []ctrl.Request {
		return []ctrl.Request{{NamespacedName: types.NamespacedName{Name: fleet}}}
	}
	err := kube.NewController(mgr, "failover-disruption", 1).
		Watches(&clusterv1alpha1.Cluster{}, handler.EnqueueRequestsFromMapFunc(toFleet), builder.WithPredicates(comesGoesOrFallsSilent())).
		Complete(kube.QuietConflicts(r))
	if err != nil {
		return fmt.Errorf("making the controller of condition EvictionSuspended: %w", err)
	}
	return nil
}

// comesGoesOrFallsSilent drops events that cannot change the verdict.
func comesGoesOrFallsSilent() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*clusterv1alpha1.Cluster)
		after, ok2 := e.ObjectNew.(*clusterv1alpha1.Cluster)
		return ok && ok2 && decides(before, after)
	}}
}

// Reconcile updates the condition on every Cluster.
func (r *disruptionReporter) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	clusters, err := kube.Clusters(ctx, r.hubClient)
	if err != nil {
		return reconcile.Result{}, err
	}
	now := r.clock.Now()
	verdict := disruption.Decide(clusters, now)
	var conflicts []error // an agent that writes to its Cluster all the time holds up no other one
	for _, c := range clusters {
		if err := r.report(ctx, c, verdict, now); apierrors.IsConflict(err) {
			conflicts = append(conflicts, err)
		} else if err != nil {
			return reconcile.Result{}, err
		}
	}
	if err := errors.Join(conflicts...); err != nil {
		return reconcile.Result{}, err
	}
	var out reconcile.Result
	for _, until := range verdict.Awaited {
		if wait := max(until.Sub(now), time.Millisecond); out.RequeueAfter == 0 || wait < out.RequeueAfter {
			out.RequeueAfter = wait
		}
	}
	return out, nil
}

func (r *disruptionReporter) report(ctx context.Context, shared *clusterv1alpha1.Cluster, verdict disruption.Verdict, now time.Time) error {
	condition := meta.FindStatusCondition(shared.Status.Conditions, clusterv1alpha1.ClusterEvictionSuspended)
	suspended := verdict.Suspended(shared.Name)
	if (condition != nil) == suspended && (condition == nil || condition.Reason == verdict.Reason(shared.Name)) {
		return nil
	}
	c := shared.DeepCopy()
	edit, err := kube.Begin(c)
	if err != nil {
		return err
	}
	// A change of the reason must also change lastTransitionTime.
	meta.RemoveStatusCondition(&c.Status.Conditions, clusterv1alpha1.ClusterEvictionSuspended)
	if suspended {
		meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{
			Type: clusterv1alpha1.ClusterEvictionSuspended, Status: metav1.ConditionTrue, Reason: verdict.Reason(c.Name),
			Message: verdict.Message(c.Name), ObservedGeneration: c.Generation, LastTransitionTime: metav1.NewTime(now),
		})
	}
	if _, err := edit.Commit(ctx, r.hubClient, contract.FieldManagerFailover); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("recording whether the silence of cluster %q is believed: %w", c.Name, err)
	}
	if !suspended {
		ctrl.LoggerFrom(ctx).Info("Deciding by the silence of a cluster again", "Cluster", c.Name)
		return nil
	}
	ctrl.LoggerFrom(ctx).Info("Moving nothing away from a silent cluster", "Cluster", c.Name, "reason", verdict.Reason(c.Name))
	r.events(suspension(c, verdict))
	return nil
}
