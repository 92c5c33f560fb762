package rebalance

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appsv1alpha1 "fairlead.dev/common/api/apps/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/eventsink"
)

// Deps are the dependencies of the stage.
type Deps struct {
	// Events takes the events about WorkloadRebalancers.
	Events eventsink.Sink
	// Clock is the hub's clock.
	Clock clock.PassiveClock
}

// Reconciler executes WorkloadRebalancers.
type Reconciler struct {
	hubClient client.Client
	// liveReader tells a missing binding from one that the cache does not show yet.
	liveReader client.Reader
	events     eventsink.Sink
	clock      clock.PassiveClock
}

// Register adds the stage to a manager.
func Register(mgr manager.Manager, deps Deps) error {
	if deps.Events == nil || deps.Clock == nil {
		return errors.New("registering the rebalance stage: it needs an event sink and a clock")
	}
	r := &Reconciler{hubClient: mgr.GetClient(), liveReader: mgr.GetAPIReader(), events: deps.Events, clock: deps.Clock}
	err := kube.NewController(mgr, "rebalance", 1).
		For(&appsv1alpha1.WorkloadRebalancer{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Complete(kube.QuietConflicts(r))
	if err != nil {
		return fmt.Errorf("registering the rebalance stage: %w", err)
	}
	return nil
}

// Reconcile executes one WorkloadRebalancer, records the results, and deletes it after its TTL.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	one := &appsv1alpha1.WorkloadRebalancer{}
	if err := r.hubClient.Get(ctx, req.NamespacedName, one); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !one.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, nil
	}
	edit, err := kube.Begin(one)
	if err != nil {
		return reconcile.Result{}, err
	}
	observed := observe(one.Spec.Workloads, one.Status.ObservedWorkloads)
	missing, failure := r.ask(ctx, one, observed)
	conclude(&one.Status, one.Generation, observed, r.clock.Now())
	if _, err := edit.Commit(ctx, r.hubClient, contract.FieldManagerRebalance); client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, errors.Join(failure, fmt.Errorf("recording what came of %q: %w", one.Name, err))
	}
	if len(missing) > 0 {
		r.events(notPlaced(one, missing))
	}
	if failure != nil {
		return reconcile.Result{}, failure
	}
	return r.expire(ctx, one)
}

// ask triggers a rescheduling of each workload without a result, and returns those that no policy places. Failures are
// returned, and retried.
func (r *Reconciler) ask(
	ctx context.Context, one *appsv1alpha1.WorkloadRebalancer, observed []appsv1alpha1.ObservedWorkload,
) (missing []appsv1alpha1.ObjectReference, err error) {
	var failures []error
	for i := range observed {
		o := &observed[i]
		if o.Result != "" {
			continue
		}
		found, err := r.askOne(ctx, one, o.Workload)
		switch {
		case err != nil:
			failures = append(failures, fmt.Errorf("asking for another placement of %s %q: %w", o.Workload.Kind, o.Workload.Name, err))
		case found:
			o.Result = appsv1alpha1.RebalanceSuccessful
		default:
			o.Result, o.Reason = appsv1alpha1.RebalanceFailed, appsv1alpha1.ReferencedBindingNotFound
			missing = append(missing, o.Workload)
		}
	}
	return missing, errors.Join(failures...)
}

// askOne triggers the rescheduling of one workload, and says whether it has a binding.
func (r *Reconciler) askOne(ctx context.Context, one *appsv1alpha1.WorkloadRebalancer, workload appsv1alpha1.ObjectReference) (bool, error) {
	b, err := r.binding(ctx, workload)
	if b == nil || err != nil {
		return false, err
	}
	at := askAt(b, one.CreationTimestamp.Time, r.clock.Now())
	if at == nil {
		return true, nil
	}
	edit, err := kube.Begin(b)
	if err != nil {
		return false, err
	}
	b.BindingSpec().RescheduleTriggeredAt = at
	if _, err := edit.Commit(ctx, r.hubClient, contract.FieldManagerRebalance); err != nil {
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return false, err
	}
	ctrl.LoggerFrom(ctx).Info("Asking for a placement from scratch", "namespace", b.GetNamespace(), "binding", b.GetName())
	return true, nil
}

// expire deletes a WorkloadRebalancer whose TTL has passed.
func (r *Reconciler) expire(ctx context.Context, one *appsv1alpha1.WorkloadRebalancer) (reconcile.Result, error) {
	left, ok := expiry(one, r.clock.Now())
	if !ok {
		return reconcile.Result{}, nil
	}
	if left > 0 {
		return reconcile.Result{RequeueAfter: left}, nil
	}
	uid, version := one.UID, one.ResourceVersion
	err := r.hubClient.Delete(ctx, one, client.Preconditions{UID: &uid, ResourceVersion: &version})
	if client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, fmt.Errorf("deleting %q, which is finished: %w", one.Name, err)
	}
	ctrl.LoggerFrom(ctx).Info("Deleted a WorkloadRebalancer that was finished")
	return reconcile.Result{}, nil
}
