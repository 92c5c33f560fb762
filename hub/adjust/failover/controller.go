package failover

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

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

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/disruption"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/adjust/failover/evict"
)

// DefaultRate is how many applications leave the clusters of a zone of failure each
// second.
const DefaultRate = 5.0

// defaultWorkers is how many bindings are looked at once.
const defaultWorkers = 8

// Scheduler answers what it would decide now. Both are safe for concurrent use.
type Scheduler interface {
	// CouldPlaceWithout says whether there is a place for a binding in other clusters than these.
	CouldPlaceWithout(ctx context.Context, b kube.Binding, without []string) (bool, error)
	// WouldReturn says whether it would choose a cluster again that the binding is leaving.
	WouldReturn(ctx context.Context, b kube.Binding, to string) (bool, error)
}

// Deps is what the stage needs.
type Deps struct {
	// Events receives what there is to tell people.
	Events kube.EventSink
	// Clock is the hub's time.
	Clock clock.PassiveClock
	// Scheduler is asked before anything is left, and before a copy goes.
	Scheduler Scheduler
	// HasHealthRule says whether there is a rule for how objects of a kind fare. Others do not
	// move because they are not healthy.
	HasHealthRule func(kind schema.GroupVersionKind) bool
	// ExecutionNamespacePrefix is followed by the name of a cluster.
	ExecutionNamespacePrefix string
	// Options are for all bindings.
	Options evict.Options
	// Rate is how many applications leave the clusters of a zone each second; 0 is no
	// limit.
	Rate float64
	// Workers is how many bindings are looked at once; 0 is a sensible number.
	Workers int
}

// Register adds the stage to a manager: one controller for each kind of binding, and one
// for condition EvictionSuspended of all Clusters.
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
	live := &liveList{hubReader: mgr.GetAPIReader(), clock: deps.Clock}
	for _, kind := range []kube.BindingKind{kube.ResourceBindings(), kube.ClusterResourceBindings()} {
		r := &reconciler{
			hubClient: mgr.GetClient(), hubReader: mgr.GetAPIReader(), kind: kind, events: deps.Events, clock: deps.Clock,
			scheduler: deps.Scheduler, hasHealthRule: deps.HasHealthRule, prefix: deps.ExecutionNamespacePrefix, options: deps.Options, rateLimiter: limiter, verdicts: verdicts, taints: policies, live: live,
			memories: map[types.NamespacedName]evict.Memory{},
		}
		err := kube.NewController(mgr, "failover-"+strings.ToLower(kind.Kind), deps.Workers).
			For(kind.New(), builder.WithPredicates(bindingChanged())).
			Watches(&clusterv1alpha1.Cluster{}, r.onCluster()).
			Watches(&workv1alpha1.Work{}, r.onWork()).
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

// reconciler moves the bindings of one kind.
type reconciler struct {
	hubClient     client.Client
	hubReader     client.Reader // live
	kind          kube.BindingKind
	events        kube.EventSink
	clock         clock.PassiveClock
	scheduler     Scheduler
	hasHealthRule func(kind schema.GroupVersionKind) bool
	prefix        string
	options       evict.Options
	rateLimiter   *rateLimiter
	verdicts      *disruption.Verdicts
	taints        *taints
	live          *liveList
	watch         disruption.Watch

	mu       sync.Mutex
	memories map[types.NamespacedName]evict.Memory
}

// Reconcile looks whether a binding has to leave a cluster, or has left one.
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
			r.reportCondition(b, &d, before) // the next try finds the condition there
		}
		return reconcile.Result{}, err
	}
	r.remember(req.NamespacedName, d.Memory)
	r.report(ctx, b, &d, before)
	return reconcile.Result{RequeueAfter: d.RecheckAfter}, nil
}

// commit writes a decision: one patch of the binding and one of its status at most. It says
// whether it wrote the status, which may be so even if it fails.
func (r *reconciler) commit(ctx context.Context, b kube.Binding, in *scope, d *evict.Decision) (wrote bool, err error) {
	edit, err := kube.Begin(b)
	if err != nil {
		return false, err
	}
	spec, status := b.BindingSpec(), b.BindingStatus()
	generation := b.GetGeneration()
	if d.Changes() {
		// The history is made of the targets as they were read: before the spec changes below.
		past := evict.Remember(&in.Input, d)
		spec.Clusters, spec.GracefulEvictionTasks = evict.Apply(spec, d, in.Now)
		if err := workv1alpha2.SetEvictions(b, past); err != nil {
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
			c.ObservedGeneration = before.ObservedGeneration // that alone is no news
		}
		meta.SetStatusCondition(&status.Conditions, c)
	}
	// The scheduler acts on the spec at once: the status is written by then.
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

// report tells people what was written.
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

// reportCondition tells why an application stays where it should not, if that is news.
func (r *reconciler) reportCondition(b kube.Binding, d *evict.Decision, before *metav1.Condition) {
	if c := d.Condition; c != nil && c.Status == metav1.ConditionFalse && (before == nil || before.Reason != c.Reason) {
		r.tell(notMoved(b, c))
	}
}

func (r *reconciler) tell(events []kube.Event) {
	for _, e := range events {
		r.events(e)
	}
}

// rateKey is what the waits of a binding are known by.
func (r *reconciler) rateKey(key types.NamespacedName) string {
	return r.kind.Kind + "/" + key.String()
}

// forget drops what is known of a binding that is in no cluster any more.
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

// same says whether two conditions say the same.
func same(a, b metav1.Condition) bool {
	return a.Status == b.Status && a.Reason == b.Reason && a.Message == b.Message
}
