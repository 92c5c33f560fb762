package failover

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/disruption"
	"fairlead.dev/common/evictions"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/hub/adjust/failover/evict"
)

// DefaultRate is how many applications may leave the clusters of a zone per second.
const DefaultRate = 5.0

// defaultWorkers is the number of bindings that are reconciled in parallel.
const defaultWorkers = 8

// Scheduler tells what the scheduler would decide now. Its methods are safe for concurrent use.
type Scheduler interface {
	// CouldPlaceWithout says whether the binding could be placed in clusters other than these.
	CouldPlaceWithout(ctx context.Context, b kube.Binding, without []string) (bool, error)
	// WouldReturn says whether the scheduler would choose a cluster again that the binding is leaving.
	WouldReturn(ctx context.Context, b kube.Binding, to string) (bool, error)
}

// Deps are the dependencies of the stage.
type Deps struct {
	// Events takes the events about bindings, templates and Clusters.
	Events eventsink.Sink
	// Clock is the hub's clock.
	Clock clock.WithTicker
	// Scheduler is consulted before an eviction starts, and before a copy is deleted.
	Scheduler Scheduler
	// HasHealthRule says whether the interpreter has a health rule for a kind. Objects of other kinds are not moved for
	// being unhealthy.
	HasHealthRule func(kind schema.GroupVersionKind) bool
	// ExecutionNamespacePrefix is the prefix of the names of execution namespaces, before the name of the cluster.
	ExecutionNamespacePrefix string
	// Options apply to all bindings.
	Options evict.Options
	// Reconnects says whether members are still coming back after a start of the hub; nil if that is unknown.
	Reconnects *disruption.Reconnects
	// Rate is how many applications may leave the clusters of a zone per second; 0 means no limit.
	Rate float64
	// Workers is the number of bindings that are reconciled in parallel; 0 is the default.
	Workers int
}

// Register adds the stage to a manager: one controller for each kind of binding, and one for the condition
// EvictionSuspended of all Clusters.
func Register(mgr manager.Manager, deps Deps) error {
	if deps.Events == nil || deps.Clock == nil || deps.Scheduler == nil || deps.HasHealthRule == nil || deps.ExecutionNamespacePrefix == "" {
		return errors.New("the failover stage needs a sink for events, a clock, a scheduler and an interpreter to ask, and the prefix of execution namespaces")
	}
	if deps.Workers == 0 {
		deps.Workers = defaultWorkers
	}
	limiter, policies := newRateLimiter(deps.Rate), &taints{hubClient: mgr.GetClient()}
	verdicts := disruption.NewVerdicts(func(ctx context.Context) ([]*clusterv1alpha1.Cluster, error) {
		return kube.Clusters(ctx, mgr.GetClient())
	})
	reconnects := cmp.Or(deps.Reconnects, &disruption.Reconnects{})
	live := &liveList{hubReader: mgr.GetAPIReader(), clock: deps.Clock}
	for _, kind := range []kube.BindingKind{kube.ResourceBindings(), kube.ClusterResourceBindings()} {
		r := &reconciler{
			hubClient: mgr.GetClient(), hubReader: mgr.GetAPIReader(), kind: kind, events: deps.Events, clock: deps.Clock,
			scheduler: deps.Scheduler, hasHealthRule: deps.HasHealthRule, prefix: deps.ExecutionNamespacePrefix, options: deps.Options, rateLimiter: limiter, verdicts: verdicts, taints: policies, live: live, reconnects: reconnects,
			memories: map[types.NamespacedName]evict.Memory{},
		}
		// Set when this process starts to lead, not at the first decision: reports that arrive in between were made to
		// this process as well.
		if err := mgr.Add(manager.RunnableFunc(func(context.Context) error { r.watch.Began(r.clock.Now()); return nil })); err != nil {
			return fmt.Errorf("having the failover controller of %ss begin: %w", kind.Kind, err)
		}
		err := kube.NewController(mgr, "failover-"+strings.ToLower(kind.Kind), deps.Workers).
			For(kind.New(), builder.WithPredicates(bindingChanged())).
			Watches(&clusterv1alpha1.Cluster{}, r.onCluster()).
			Watches(&workv1alpha1.Work{}, r.onWork()).
			WatchesRawSource(source.Func(r.tick)).
			Complete(kube.QuietConflicts(r))
		if err != nil {
			return fmt.Errorf("making the failover controller of %ss: %w", kind.Kind, err)
		}
	}
	if err := registerReporter(mgr, deps); err != nil {
		return err
	}
	return nil
}

// reconciler evicts the bindings of one kind.
type reconciler struct {
	hubClient     client.Client
	hubReader     client.Reader // live
	kind          kube.BindingKind
	events        eventsink.Sink
	clock         clock.WithTicker
	scheduler     Scheduler
	hasHealthRule func(kind schema.GroupVersionKind) bool
	prefix        string
	options       evict.Options
	rateLimiter   *rateLimiter
	verdicts      *disruption.Verdicts
	taints        *taints
	live          *liveList
	watch         disruption.Watch
	reconnects    *disruption.Reconnects

	mu       sync.Mutex
	memories map[types.NamespacedName]evict.Memory
}

// silence is how long a cluster may go without a report before it counts as silent.
func (r *reconciler) silence() time.Duration {
	return cmp.Or(r.options.Silence, disruption.DefaultSilence)
}

// Reconcile decides whether a binding must leave a cluster, and whether an eviction has ended.
func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	shared := r.kind.New()
	if err := r.hubClient.Get(ctx, req.NamespacedName, shared, client.UnsafeDisableDeepCopy); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(req.NamespacedName)
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !shared.GetDeletionTimestamp().IsZero() || !concerns(shared) {
		r.forget(req.NamespacedName)
		return reconcile.Result{}, nil
	}
	in, err := r.gather(ctx, req.NamespacedName, shared)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("gathering what decides on the clusters that %q leaves: %w", req.Name, err)
	}
	d := evict.Decide(in.Input)
	if in.err != nil {
		return reconcile.Result{}, in.err
	}
	b, ok := shared.DeepCopyObject().(kube.Binding)
	if !ok {
		return reconcile.Result{}, fmt.Errorf("copying %q: it is no binding", req.Name)
	}
	before := meta.FindStatusCondition(shared.BindingStatus().Conditions, workv1alpha2.BindingEvicting)
	r.rateLimiter.keep(r.rateKey(req.NamespacedName), in.zones)
	if err := r.confirm(ctx, in, &d); err != nil {
		return reconcile.Result{}, err
	}
	if wrote, err := r.commit(ctx, b, in, &d); err != nil {
		if wrote {
			r.reportCondition(b, &d, before) // the status is written, so the retry would not report it
		}
		return reconcile.Result{}, err
	}
	r.remember(req.NamespacedName, d.Memory)
	r.report(ctx, b, &d, before)
	return reconcile.Result{RequeueAfter: d.RecheckAfter}, nil
}

// commit writes a decision: at most one patch of the binding and one of its status. It says whether it wrote the
// status, which may be so even if it returns an error.
func (r *reconciler) commit(ctx context.Context, b kube.Binding, in *scope, d *evict.Decision) (wrote bool, err error) {
	edit, err := kube.Begin(b)
	if err != nil {
		return false, err
	}
	spec, status := b.BindingSpec(), b.BindingStatus()
	generation := b.GetGeneration()
	if d.Changes() {
		// The history is computed from the targets as they were read, before the spec changes below.
		past := evict.Remember(&in.Input, d)
		spec.Clusters, spec.GracefulEvictionTasks = evict.Apply(spec, d, in.Now)
		if err := evictions.Set(b, past); err != nil {
			return false, fmt.Errorf("recording which clusters %q left: %w", b.GetName(), err)
		}
		generation++
	}
	if d.Condition == nil {
		meta.RemoveStatusCondition(&status.Conditions, workv1alpha2.BindingEvicting)
	} else {
		c := *d.Condition
		c.ObservedGeneration = generation
		if before := meta.FindStatusCondition(status.Conditions, c.Type); before != nil && same(*before, c) {
			c.ObservedGeneration = before.ObservedGeneration // a new generation alone is not worth a write
		}
		meta.SetStatusCondition(&status.Conditions, c)
	}
	// The scheduler acts on the spec at once, so the status is written before it.
	if wrote, err = edit.CommitStatusFirst(ctx, r.hubClient, contract.FieldManagerFailover); err != nil {
		if !apierrors.IsConflict(err) {
			for _, e := range d.Evictions {
				r.tell(evictionFailed(b, e.Cluster, err))
			}
		}
		return wrote, fmt.Errorf("recording which clusters %q leaves: %w", b.GetName(), err)
	}
	return wrote, nil
}

// report emits events and logs about what was written.
func (r *reconciler) report(ctx context.Context, b kube.Binding, d *evict.Decision, before *metav1.Condition) {
	log := ctrl.LoggerFrom(ctx)
	for _, e := range d.Evictions {
		log.Info("Leaving a cluster", "Cluster", e.Cluster, "reason", e.Task.Message, "purgeMode", e.Task.PurgeMode)
		r.tell(evicted(b, &e.Task))
	}
	for _, e := range d.Ended {
		log.Info("Ending the eviction from a cluster", "Cluster", e.Cluster, "reason", e.How)
		r.tell(ended(b, e))
	}
	r.reportCondition(b, d, before)
}

// reportCondition emits an event when the reason changes for which an application stays where it should not.
func (r *reconciler) reportCondition(b kube.Binding, d *evict.Decision, before *metav1.Condition) {
	if c := d.Condition; c != nil && c.Status == metav1.ConditionFalse && (before == nil || before.Reason != c.Reason) {
		r.tell(notMoved(b, c))
	}
}

func (r *reconciler) tell(events []eventsink.Event) {
	for _, e := range events {
		r.events(e)
	}
}

// rateKey is the key of a binding in the rate limiter.
func (r *reconciler) rateKey(key types.NamespacedName) string {
	return r.kind.Kind + "/" + key.String()
}

// forget drops the memory of a binding that no longer exists or has no clusters.
func (r *reconciler) forget(key types.NamespacedName) {
	r.remember(key, evict.Memory{})
	r.rateLimiter.keep(r.rateKey(key), nil)
}

func (r *reconciler) memory(key types.NamespacedName) evict.Memory {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.memories[key]
}

func (r *reconciler) remember(key types.NamespacedName, m evict.Memory) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if m.Empty() {
		delete(r.memories, key)
		return
	}
	r.memories[key] = m
}

// same says whether two conditions are equal but for their times and generations.
func same(a, b metav1.Condition) bool {
	return a.Status == b.Status && a.Reason == b.Reason && a.Message == b.Message
}
