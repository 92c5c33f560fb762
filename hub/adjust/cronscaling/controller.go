package cronscaling

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/clock"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	autoscalingv1alpha1 "fairlead.dev/common/api/autoscaling/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/hub/adjust/cronscaling/schedule"
)

// longestWait bounds the requeue delay: timers stand still while a machine is suspended, and do not follow a clock that
// is set, but no rule may be missed because of that.
const longestWait = schedule.Grace / 2

// workers is the number of parallel reconciles: the rules of many objects are due at midnight.
const workers = 8

// Deps are the dependencies of the stage.
type Deps struct {
	// Events takes the events about CronFederatedHPAs.
	Events eventsink.Sink
	// Clock is the hub's clock. Its time zone applies to rules without one.
	Clock clock.PassiveClock
}

// Reconciler scales the targets of CronFederatedHPAs.
type Reconciler struct {
	hubClient client.Client
	// liveReader tells a missing target from one without a scale, and reads when rules were edited.
	liveReader client.Reader
	events     eventsink.Sink
	clock      clock.PassiveClock
	// tables caches the parsed schedules of all rules.
	tables *schedule.Timetables
}

// Register adds the stage to a manager.
func Register(mgr manager.Manager, deps Deps) error {
	if deps.Events == nil || deps.Clock == nil {
		return errors.New("registering the cronscaling stage: it needs an event sink and a clock")
	}
	r := &Reconciler{hubClient: mgr.GetClient(), liveReader: mgr.GetAPIReader(), events: deps.Events, clock: deps.Clock, tables: &schedule.Timetables{}}
	err := kube.NewController(mgr, "cronscaling", workers).
		For(&autoscalingv1alpha1.CronFederatedHPA{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Complete(kube.QuietConflicts(r))
	if err != nil {
		return fmt.Errorf("registering the cronscaling stage: %w", err)
	}
	return nil
}

// Reconcile executes the due rules of one CronFederatedHPA, records the outcomes, and requeues it for the next due
// time.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	scaler := &autoscalingv1alpha1.CronFederatedHPA{}
	if err := r.hubClient.Get(ctx, req.NamespacedName, scaler); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !scaler.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, nil
	}
	in := schedule.Input{Rules: scaler.Spec.Rules, Histories: scaler.Status.ExecutionHistories, Now: r.clock.Now(), Tables: r.tables}
	var err error
	if in.Edited, err = r.edited(ctx, scaler); err != nil {
		return reconcile.Result{}, err
	}
	plans := schedule.Decide(in)
	outcomes, later := r.follow(ctx, scaler, plans)
	before := problemOf(scaler)
	wrote, err := r.record(ctx, scaler, plans, outcomes)
	if err != nil {
		return reconcile.Result{}, errors.Join(err, later)
	}
	if wrote {
		r.report(ctx, scaler, plans, outcomes)
		if problem := problemOf(scaler); problem != "" && problem != before {
			r.events(notStarted(scaler, problem))
		}
	}
	if later != nil {
		return reconcile.Result{}, later
	}
	return reconcile.Result{RequeueAfter: r.wait(plans)}, nil
}

// edited returns when the rules of a CronFederatedHPA were last edited, if the status does not cover that edit yet. The
// time is in managedFields, which the cache strips.
func (r *Reconciler) edited(ctx context.Context, scaler *autoscalingv1alpha1.CronFederatedHPA) (time.Time, error) {
	valid := meta.FindStatusCondition(scaler.Status.Conditions, autoscalingv1alpha1.CronRulesValid)
	switch {
	case valid != nil && valid.ObservedGeneration == scaler.Generation:
		return time.Time{}, nil
	case scaler.Generation == 1:
		return scaler.CreationTimestamp.Time, nil
	}
	live := kube.MetadataOf(autoscalingv1alpha1.GroupVersion.WithKind("CronFederatedHPA"))
	if err := r.liveReader.Get(ctx, client.ObjectKeyFromObject(scaler), live); err != nil {
		return time.Time{}, client.IgnoreNotFound(err)
	}
	if live.UID != scaler.UID || live.Generation != scaler.Generation {
		return time.Time{}, kube.CacheBehind(autoscalingv1alpha1.GroupVersion.WithResource("cronfederatedhpas").GroupResource(), scaler.Name)
	}
	var last time.Time
	for _, e := range live.ManagedFields {
		writes := e.Subresource == "" && e.FieldsV1 != nil && bytes.Contains(e.FieldsV1.GetRawBytes(), []byte(`"f:spec"`))
		if writes && e.Time != nil && e.Time.After(last) {
			last = e.Time.Time
		}
	}
	return last, nil
}

// follow scales the target for each due rule, the earliest first, and returns the outcomes. A temporary failure has no
// outcome yet, and is returned as the error.
func (r *Reconciler) follow(
	ctx context.Context, scaler *autoscalingv1alpha1.CronFederatedHPA, plans []schedule.Plan,
) (map[string]schedule.Outcome, error) {
	outcomes := map[string]schedule.Outcome{}
	for _, p := range schedule.InOrder(plans) {
		replicas, err := r.scale(ctx, scaler, p.Rule)
		if isTemporary(err) && r.clock.Since(p.Due) < longestWait {
			return outcomes, fmt.Errorf("following rule %q, which was due at %s: %w", p.Rule.Name, p.Due.Format(time.RFC3339), err)
		}
		outcomes[p.Rule.Name] = schedule.Outcome{Replicas: replicas, Failure: err}
	}
	return outcomes, nil
}

// record writes the status if it changed.
func (r *Reconciler) record(
	ctx context.Context, scaler *autoscalingv1alpha1.CronFederatedHPA, plans []schedule.Plan, outcomes map[string]schedule.Outcome,
) (bool, error) {
	edit, err := kube.Begin(scaler)
	if err != nil {
		return false, err
	}
	histories := schedule.Histories(scaler.Status.ExecutionHistories, plans, outcomes, r.clock.Now())
	if !equality.Semantic.DeepEqual(histories, scaler.Status.ExecutionHistories) {
		scaler.Status.ExecutionHistories = histories
	}
	setRulesValid(scaler, plans)
	wrote, err := edit.Commit(ctx, r.hubClient, contract.FieldManagerCronScaling)
	if err != nil {
		return false, fmt.Errorf("recording what came of the rules of %q: %w", scaler.Name, err)
	}
	return wrote, nil
}

// report emits events about what was written.
func (r *Reconciler) report(
	ctx context.Context, scaler *autoscalingv1alpha1.CronFederatedHPA, plans []schedule.Plan, outcomes map[string]schedule.Outcome,
) {
	for _, e := range eventsOf(scaler, plans, outcomes) {
		r.events(e)
	}
	for name, outcome := range outcomes {
		log := ctrl.LoggerFrom(ctx).WithValues("rule", name)
		if outcome.Failure != nil {
			log.Info("Did not scale", "reason", outcome.Failure.Error())
			continue
		}
		log.Info("Scaled", "target", nameOf(scaler), "replicas", outcome.Replicas)
	}
}

// wait returns the delay until the next rule is due; 0 means that none ever is.
func (r *Reconciler) wait(plans []schedule.Plan) time.Duration {
	var wait time.Duration
	for i := range plans {
		if plans[i].Next.IsZero() {
			continue
		}
		left := min(max(plans[i].Next.Sub(r.clock.Now()), time.Millisecond), longestWait)
		if wait == 0 || left < wait {
			wait = left
		}
	}
	return wait
}

// nameOf returns the kind and name of the target of a CronFederatedHPA.
func nameOf(scaler *autoscalingv1alpha1.CronFederatedHPA) string {
	return strings.Join([]string{scaler.Spec.ScaleTargetRef.Kind, scaler.Spec.ScaleTargetRef.Name}, " ")
}
