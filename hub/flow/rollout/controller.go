package rollout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/disruption"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/edits"
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/common/revision"
)

// defaultWorkers is the default of Deps.Workers.
const defaultWorkers = 4

// Renderer compares Works with what a revision renders. It is safe for concurrent use.
type Renderer interface {
	// IsRendered returns whether a Work that has no revision yet equals what content renders.
	IsRendered(ctx context.Context, b kube.Binding, work *workv1alpha1.Work, content revision.Content) (bool, error)
}

// Deps is what the stage needs.
type Deps struct {
	// ExecutionNamespacePrefix is the prefix of execution namespaces, followed by the name of a cluster.
	ExecutionNamespacePrefix string
	// Interpreter sets the replicas of templates.
	Interpreter interpreter.Interpreter
	// Renderer recognizes the revision of Works from before the strategy.
	Renderer Renderer
	// Seen says which edits the detector has seen; nil if rollouts need not wait for it.
	Seen *edits.Seen
	// Events receives the stage's events.
	Events eventsink.Sink
	// Clock is the hub's time.
	Clock clock.WithTicker
	// Registry registers the metrics.
	Registry prometheus.Registerer
	// Silence is after how long a silence the hub gives up members that have only their lease; 0 means disruption.DefaultSilence.
	Silence time.Duration
	// Reconnects says whether members are still reconnecting after a start of the hub; nil if that is unknown.
	Reconnects *disruption.Reconnects
	// Workers is the number of concurrent reconciles; 0 means defaultWorkers.
	Workers int
}

// Register adds the stage to a manager: one controller for each kind of binding. Works must be
// indexed by kube.Index.
func Register(mgr manager.Manager, deps Deps) error {
	if deps.ExecutionNamespacePrefix == "" || deps.Interpreter == nil || deps.Renderer == nil || deps.Events == nil || deps.Clock == nil || deps.Registry == nil {
		return errors.New("the rollout stage needs the prefix of execution namespaces, an interpreter, a renderer, a sink for events, a clock and a registry of metrics")
	}
	if deps.Workers == 0 {
		deps.Workers = defaultWorkers
	}
	m, err := newMetrics(deps.Registry, mgr.GetClient(), deps.Clock)
	if err != nil {
		return err
	}
	places := newSlots()
	verdicts := disruption.NewVerdicts(func(ctx context.Context) ([]*clusterv1alpha1.Cluster, error) {
		return kube.Clusters(ctx, mgr.GetClient())
	})
	reconnects := cmp.Or(deps.Reconnects, &disruption.Reconnects{})
	rules := newRuleSecrets(mgr.GetClient(), mgr.GetAPIReader())
	if err := rules.register(mgr); err != nil {
		return err
	}
	for _, kind := range []kube.BindingKind{kube.ResourceBindings(), kube.ClusterResourceBindings()} {
		namespaced := kind.Kind == kube.ResourceBindings().Kind
		r := &reconciler{
			hubClient: mgr.GetClient(), hubReader: mgr.GetAPIReader(), kind: kind, rollouts: kube.ClusterStagedRollouts(),
			prefix: deps.ExecutionNamespacePrefix, interpreter: deps.Interpreter, renderer: deps.Renderer, seen: deps.Seen.Waiter(), events: deps.Events, clock: deps.Clock,
			silence: cmp.Or(deps.Silence, disruption.DefaultSilence), metrics: m, slots: places, verdicts: verdicts, rules: rules, written: kube.NewWritten[types.NamespacedName, kube.Rollout](deps.Clock), states: newRolloutStates(),
			reconnects: reconnects,
		}
		if namespaced {
			r.rollouts = kube.StagedRollouts()
		}
		b := kube.NewController(mgr, "rollout-"+strings.ToLower(kind.Kind), deps.Workers).
			For(kind.New(), builder.WithPredicates(bindingChanged())).
			Watches(&workv1alpha2.ResourceBinding{}, r.onDependent()).
			Watches(&workv1alpha2.ClusterResourceBinding{}, r.onDependent()).
			Watches(r.rollouts.New(), r.onRollout()).
			Watches(&fairleadv1alpha1.RolloutStrategy{}, r.onStrategy()).
			Watches(&workv1alpha1.Work{}, r.onWork()).
			Watches(&clusterv1alpha1.Cluster{}, r.onCluster()).
			Watches(&policyv1alpha1.ClusterOverridePolicy{}, r.onOverride()).
			WatchesRawSource(kube.RulesChanged(r.interpreter, r.rulesChanged)).
			WatchesRawSource(source.Func(r.tick)).
			WatchesRawSource(r.seen.Source()).
			WatchesRawSource(r.slots.freed(r.kind))
		if namespaced {
			b = b.Watches(&policyv1alpha1.OverridePolicy{}, r.onOverride()).Watches(&corev1.Namespace{}, r.onNamespace())
		}
		if err := b.Complete(kube.QuietConflicts(r)); err != nil {
			return fmt.Errorf("making the rollout controller of %ss: %w", kind.Kind, err)
		}
	}
	return nil
}

// reconciler rolls out the bindings of one kind.
type reconciler struct {
	hubClient   client.Client
	hubReader   client.Reader
	kind        kube.BindingKind
	rollouts    kube.RolloutKind
	prefix      string
	interpreter interpreter.Interpreter
	renderer    Renderer
	seen        *edits.Waiter
	events      eventsink.Sink
	clock       clock.WithTicker
	silence     time.Duration
	watch       disruption.Watch
	reconnects  *disruption.Reconnects
	verdicts    *disruption.Verdicts
	metrics     *metrics
	slots       *slots
	rules       *ruleSecrets
	// written holds rollouts as this process wrote them, until the cache shows them.
	written *kube.Written[types.NamespacedName, kube.Rollout]
	states  *rolloutStates
	// epoch counts changes that may affect the content of any application: of override policies and of the rules of kinds.
	epoch atomic.Int64
}

// Reconcile advances the rollout of one binding.
func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	key := req.NamespacedName
	b := r.kind.New()
	if err := r.hubClient.Get(ctx, key, b, client.UnsafeDisableDeepCopy); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(key) // its rollout is garbage-collected
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	switch {
	case !b.GetDeletionTimestamp().IsZero():
		r.forget(key)
		return reconcile.Result{}, nil
	case !bindings.IsStaged(b):
		return reconcile.Result{}, r.end(ctx, b)
	}
	if terminating, err := r.isTerminating(ctx, b); terminating || err != nil {
		if terminating {
			r.forget(key)
		}
		return reconcile.Result{}, err
	}
	s, err := r.gather(ctx, b)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("gathering what decides on the rollout of %q: %w", key.Name, err)
	}
	d, err := r.decide(ctx, s)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("making a revision of %q: %w", key.Name, err)
	}
	s.memory.engine = d.Memory
	done, err := r.commit(ctx, s, &d)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("saying how far the rollout of %q is: %w", key.Name, err)
	}
	if done.written {
		r.report(ctx, s, &d)
	}
	err = errors.Join(r.dropKept(ctx, s), r.keepCondition(ctx, s, done.status))
	return reconcile.Result{RequeueAfter: r.left(s.in.Now, sooner(sooner(d.RetryAfter, done.again), s.again))}, err
}

// left returns what remains of a wait that was decided on at a time; 0 means not to wait.
func (r *reconciler) left(decided time.Time, wait time.Duration) time.Duration {
	if wait == 0 {
		return 0
	}
	return max(time.Nanosecond, wait-r.clock.Since(decided))
}

// sooner returns the shorter of two waits, where 0 means none.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// end deletes the rollout of a binding without a strategy: changes then reach all clusters at once. If the binding gets a strategy again, a
// new rollout begins with the state of that time.
func (r *reconciler) end(ctx context.Context, b kube.Binding) error {
	key := client.ObjectKeyFromObject(b)
	r.forget(key)
	rollout := r.rollouts.New()
	err := r.hubClient.Get(ctx, key, rollout, client.UnsafeDisableDeepCopy)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading %s %q: %w", r.rollouts.Kind, key.Name, err)
	}
	if err == nil && rollout.GetDeletionTimestamp().IsZero() {
		if err := r.confirmUnstaged(ctx, b); err != nil {
			return err
		}
		uid := rollout.GetUID()
		if err := r.hubClient.Delete(ctx, rollout, client.Preconditions{UID: &uid}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("ending the rollout of %q: %w", key.Name, err)
		}
	}
	return r.setCondition(ctx, b, nil)
}

// confirmUnstaged confirms by a live read that a binding has no strategy. The cache of a new leader may be older than the last writes of
// the leader before it, and deleting a rollout loses its history, with people's approvals and rollbacks.
func (r *reconciler) confirmUnstaged(ctx context.Context, b kube.Binding) error {
	live := r.kind.New()
	err := r.hubReader.Get(ctx, client.ObjectKeyFromObject(b), live)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading %s %q: %w", r.kind.Kind, b.GetName(), err)
	}
	if err != nil || live.GetUID() != b.GetUID() || bindings.IsStaged(live) {
		return kube.CacheBehind(workv1alpha2.GroupVersion.WithResource(strings.ToLower(r.kind.Kind)+"s").GroupResource(), b.GetName())
	}
	return nil
}

// forget drops the state of a binding that has no rollout.
func (r *reconciler) forget(key types.NamespacedName) {
	r.states.forget(key)
	r.slots.forget(r.rollouts.Kind, key)
	r.metrics.forget(r.rollouts.Kind, key)
}
