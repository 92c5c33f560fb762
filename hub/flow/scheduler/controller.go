package scheduler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/common/quota"
	"fairlead.dev/hub/flow/scheduler/decide"
	"fairlead.dev/hub/flow/scheduler/hints"
	"fairlead.dev/hub/flow/scheduler/reserve"
)

// defaultWorkers is the default of Deps.Workers. A decision takes microseconds; workers spend their time waiting for the API server.
const defaultWorkers = 8

// retryAfter is when a binding that waits for capacity, or for capacity in a preferred cluster, is reconciled without any event:
// reservations that no report confirmed have expired by then.
const retryAfter = reserve.Lifetime

// DefaultSettle is the default of Deps.Settle. Free capacity comes and goes while other applications are rolled out.
const DefaultSettle = time.Minute

// Deps is what the scheduler needs.
type Deps struct {
	// Events receives the scheduler's events.
	Events eventsink.Sink
	// Clock is the time of decisions.
	Clock clock.PassiveClock
	// Settle is for how long a preferred cluster must have been available before an application moves there; 0 means DefaultSettle.
	Settle time.Duration
	// Deferred takes status that is not urgent, for another stage to write; if it is nil, all status is written at once.
	Deferred *kube.DeferredStatus
	// DeferFor is the longest that deferred status waits for another stage's write; 0 means defaultDeferFor.
	DeferFor time.Duration
	// Workers is the number of concurrent reconciles; 0 means defaultWorkers.
	Workers int
}

// Register adds the scheduler to a manager: one controller for each kind of binding.
func Register(mgr manager.Manager, deps Deps) (*Scheduler, error) {
	if deps.Events == nil || deps.Clock == nil {
		return nil, errors.New("the scheduler needs a sink for events and a clock")
	}
	if deps.Workers == 0 {
		deps.Workers = defaultWorkers
	}
	deps.Settle = cmp.Or(deps.Settle, DefaultSettle)
	out := &Scheduler{}
	for _, kind := range []kube.BindingKind{kube.ResourceBindings(), kube.ClusterResourceBindings()} {
		name := "scheduler-" + strings.ToLower(kind.Kind)
		// Each kind has its own snapshot, which is as new as the events that enqueue its bindings. Only namespaced templates have replicas
		// and thus reservations.
		r := &reconciler{
			hubClient: mgr.GetClient(), hubReader: mgr.GetAPIReader(), kind: kind, events: deps.Events, clock: deps.Clock,
			snapshot: &snapshot{}, ledger: reserve.New(), settle: deps.Settle, deferred: deps.Deferred, deferFor: cmp.Or(deps.DeferFor, defaultDeferFor),
			assumed: map[types.NamespacedName]placement{}, accounts: map[string]*quota.Account{}, waiting: map[types.NamespacedName]string{}, notPreferred: sets.Set[types.NamespacedName]{}, failbackSince: map[types.NamespacedName]time.Time{},
		}
		c := kube.NewController(mgr, name, deps.Workers).
			Watches(kind.New(), r.bindings(), builder.WithPredicates(bindingChanged())).
			Watches(&clusterv1alpha1.Cluster{}, r.clusters()).
			Watches(&workv1alpha2.ClusterResourceBinding{}, r.definitions())
		if kind.Kind == kube.ResourceBindings().Kind {
			out.namespaced = r
			// Only namespaces have quotas and restrict clusters.
			c = c.Watches(&policyv1alpha1.FederatedResourceQuota{}, r.quotas()).Watches(&corev1.Namespace{}, r.namespaces())
		} else {
			out.wide = r
		}
		if err := c.Complete(kube.QuietConflicts(r)); err != nil {
			return nil, fmt.Errorf("making the controller %q: %w", name, err)
		}
	}
	return out, nil
}

// reconciler places the bindings of one kind.
type reconciler struct {
	hubClient client.Client
	hubReader client.Reader // live
	kind      kube.BindingKind
	events    eventsink.Sink
	clock     clock.PassiveClock

	snapshot *snapshot
	ledger   *reserve.Ledger
	settle   time.Duration
	deferred *kube.DeferredStatus
	deferFor time.Duration
	// changes batches changes of clusters.
	changes changes
	// fresh caches the clusters for questions of other stages.
	fresh fresh
	// asking guards asked, the memo for questions of other stages.
	asking sync.Mutex
	asked  decide.Memo
	// deciding serializes decisions, so that each sees what those before it assigned. It guards all fields below.
	deciding sync.Mutex

	// memo caches what decisions have in common.
	memo decide.Memo
	// assumed holds decisions that the cache does not show yet, by binding.
	assumed map[types.NamespacedName]placement
	// accounts holds the usage of the bindings of each namespace with quotas.
	accounts map[string]*quota.Account
	// waiting holds the reason for which the last decision did not place a binding.
	waiting map[types.NamespacedName]string
	// notPreferred are the bindings that the last decision placed although they prefer other clusters.
	notPreferred sets.Set[types.NamespacedName]
	// failbackSince is since when a binding could move to a preferred cluster.
	failbackSince map[types.NamespacedName]time.Time
}

// Reconcile places one binding, or enqueues the bindings that changes of clusters affect.
func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	if req == lookAtChanges() {
		return reconcile.Result{}, r.wakeConcerned(ctx)
	}
	binding := r.kind.New()
	if err := r.hubClient.Get(ctx, req.NamespacedName, binding); err != nil {
		r.written(req.NamespacedName)
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !hints.Responsible(binding) {
		return reconcile.Result{}, r.withdraw(ctx, binding)
	}
	before := slices.Clone(binding.BindingSpec().Clusters)
	decision, by, wait, err := r.decide(ctx, binding)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("gathering what decides on %q: %w", binding.GetName(), err)
	}
	if err := r.confirm(ctx, binding, dropped(binding.BindingSpec(), decision), by); err != nil {
		r.undo(ctx, binding, before, decision)
		return reconcile.Result{}, err
	}
	edit, err := kube.Begin(binding)
	if err != nil {
		return reconcile.Result{}, err
	}
	generation, was := binding.GetGeneration(), verdictIn(binding.BindingStatus())
	change, err := record(binding, decision, metav1.NewTime(r.clock.Now()))
	if err != nil {
		return reconcile.Result{}, err
	}
	if change.first {
		edit.Untracked()
	}
	wrote, later, err := r.commit(ctx, edit, binding, was, change)
	if err != nil {
		if binding.GetGeneration() == generation { // otherwise the targets were written, and only the status was not
			r.undo(ctx, binding, before, decision)
		} else if change.targets {
			r.report(ctx, binding, decision, change, wrote) // the retry finds the targets already written
		}
		return reconcile.Result{}, fmt.Errorf("recording the clusters of %q: %w", binding.GetName(), err)
	}
	if decision.Trigger == decide.TriggerPreferred {
		r.arrived(req.NamespacedName)
	}
	r.report(ctx, binding, decision, change, wrote)
	return reconcile.Result{RequeueAfter: soonest(recheck(decision, wait), later)}, nil
}

// recheck returns when a binding is reconciled without any event, given how long a preferred cluster still has to settle; 0 means never.
func recheck(d decide.Decision, wait time.Duration) time.Duration {
	if d.Outcome == decide.Unschedulable || d.NotPreferred && wait == 0 {
		return retryAfter
	}
	return wait
}

// report logs what changed, and emits the events, after the write.
func (r *reconciler) report(ctx context.Context, binding kube.Binding, d decide.Decision, c change, wrote bool) {
	log := ctrl.LoggerFrom(ctx)
	switch {
	case c.targets || c.verdict:
		log.Info("Scheduled", "trigger", d.Trigger, "clusters", bindings.TargetNames(d.Targets), "reason", d.Message)
	case wrote:
		log.V(1).Info("Recorded that the clusters stay", "trigger", d.Trigger)
	}
	for _, e := range eventsOf(r.kind.Kind, binding, d, c) {
		r.events(e)
	}
}
