package execution

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"fairlead.dev/agent/execution/plan"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/kube"
)

const (
	// defaultWorkers is how many Works are dealt with at a time.
	defaultWorkers = 8
	// firstRetry is the delay after the first try that has to wait for something: its
	// namespace, say, whose own Work comes in the same moment. It doubles from there.
	firstRetry = 20 * time.Millisecond
	// firstRefusedRetry is the same after a try that the member refused, which will
	// hardly be mended in milliseconds.
	firstRefusedRetry = time.Second
	// lastRetry bounds the delays.
	lastRetry = time.Minute
	// quietTries is how many tries that wait for something go untold: with these
	// delays, those of a bit more than a second. Most of what is waited for comes
	// sooner, and is not worth two writes.
	quietTries = 6
	// resync is how often a Work is looked at without a reason, against what no watch
	// tells. If nothing changed, it costs no request.
	resync = 10 * time.Minute
)

// Deps are what the stage needs.
type Deps struct {
	// Namespace is the execution namespace, on the hub.
	Namespace string
	// Cluster is the name of the member, whose Cluster may bound deletions; if it is empty,
	// nothing does.
	Cluster string
	// MemberClient reads and writes objects of the member, uncached. What is in a namespace it
	// reads and writes as the ServiceAccount of that name there, if Account is not empty.
	MemberClient client.Client
	// Account is the name of these accounts; empty if the agent applies with its own rights.
	Account string
	// MemberReader reads objects of the member, uncached, with the agent's own rights; nil is
	// MemberClient.
	MemberReader client.Reader
	// MemberCache watches unstructured objects of the member that carry the managed
	// label, transforms them by Slim, and does not copy what it returns. The stage starts
	// and ends its informers.
	MemberCache cache.Cache
	// Confined are caches like MemberCache, of one namespace each, if the agent may see
	// objects of no others.
	Confined []cache.Cache
	// NamespacedKinds lists what may be in a namespace of the member.
	NamespacedKinds NamespacedKinds
	// Interpreter knows what of an object belongs to the member.
	Interpreter interpreter.Interpreter
	// Reporter is told what comes of it.
	Reporter Reporter
	// Events takes what people are told.
	Events kube.EventSink
	// Confirm asks the hub whether it still lets this agent work. It is asked before
	// anything is deleted; nil asks nobody.
	Confirm func(context.Context) error
	// Clock tells the time.
	Clock clock.Clock
	// Registry takes the metrics.
	Registry prometheus.Registerer
	// Journal keeps Works where they outlast the process; nil keeps none.
	Journal Journal
	// Kept are the Works that the journal had at start.
	Kept []Kept
	// HubPatience is how long to wait for the hub at start before going by them; 0 is a
	// sensible time.
	HubPatience time.Duration
	// Workers is how many Works are dealt with at a time; 0 is a sensible number.
	Workers int
	// StuckAfter is how long an object that was deleted may take to go before people
	// are told; 0 is a sensible time.
	StuckAfter time.Duration
}

// Reconciler applies Works.
type Reconciler struct {
	hubClient    client.Client
	memberClient client.Client
	// account is as which ServiceAccounts the client acts; empty if as the agent. The reader
	// has the agent's rights in any case.
	account string
	reader  client.Reader
	// namespacedKinds lists what may be in a namespace of the member.
	namespacedKinds NamespacedKinds
	// swept are the Works that a sweep ends; nil if this is none.
	swept       map[types.NamespacedName]*workv1alpha1.Work
	interpreter interpreter.Interpreter
	reporter    Reporter
	events      kube.EventSink
	confirm     func(context.Context) error
	clock       clock.Clock
	namespace   string
	stuckAfter  time.Duration
	hubPatience time.Duration
	journal     Journal

	works            *works
	kinds            *kinds
	memory           *memory
	prerequisites    *prerequisites
	pendingDeletions *pendingDeletions
	brake            *brake
	unclaimed        *unclaimed
	metrics          *metrics
	// drifts counts what was put back.
	drifts  atomic.Int64
	backoff workqueue.TypedRateLimiter[reconcile.Request]
	queue   workqueue.TypedRateLimitingInterface[reconcile.Request]
}

// New returns the reconciler of a member. The hub's client reads Works from a cache.
func New(hubClient client.Client, deps Deps) (*Reconciler, error) {
	switch {
	case hubClient == nil, deps.MemberClient == nil, deps.MemberCache == nil, deps.NamespacedKinds == nil, deps.Interpreter == nil,
		deps.Reporter == nil, deps.Events == nil, deps.Clock == nil, deps.Registry == nil:
		return nil, errors.New("execution: a dependency is missing")
	case deps.Namespace == "":
		return nil, errors.New("execution: the execution namespace is not known")
	}
	r := &Reconciler{
		hubClient:    hubClient,
		memberClient: deps.MemberClient, account: deps.Account, reader: deps.MemberReader, namespacedKinds: deps.NamespacedKinds,
		interpreter:      deps.Interpreter,
		reporter:         deps.Reporter,
		events:           deps.Events,
		confirm:          deps.Confirm,
		clock:            deps.Clock,
		namespace:        deps.Namespace,
		stuckAfter:       cmp.Or(deps.StuckAfter, defaultStuckAfter),
		hubPatience:      cmp.Or(deps.HubPatience, defaultHubPatience),
		journal:          deps.Journal,
		works:            newWorks(hubClient, deps.Kept),
		memory:           newMemory(),
		prerequisites:    newPrerequisites(),
		pendingDeletions: newPendingDeletions(),
		brake:            newBrake(deps.Cluster != ""),
		unclaimed:        newUnclaimed(),
		metrics:          newMetrics(deps.Registry),
		backoff:          workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry),
	}
	if r.reader == nil {
		r.reader = deps.MemberClient
	}
	if r.confirm == nil {
		r.confirm = func(context.Context) error { return nil }
	}
	if r.journal == nil {
		r.journal = noJournal{}
	}
	r.kinds = newKinds(deps.MemberCache, r.memberHandler(), deps.Clock)
	r.kinds.confined, r.kinds.mapper = deps.Confined, deps.MemberClient.RESTMapper()
	return r, nil
}

// Newest returns the object of the member that is known to have changed last, with its
// resourceVersion; empty if none is.
func (r *Reconciler) Newest() (newest plan.Object, resourceVersion string) { return r.memory.Newest() }

// Register adds the stage to the manager of the hub's connection, and returns it for
// others to ask.
func Register(mgr manager.Manager, deps Deps) (*Reconciler, error) {
	r, err := New(mgr.GetClient(), deps)
	if err != nil {
		return nil, err
	}
	c, err := kube.NewTypedController(mgr, "execution", cmp.Or(deps.Workers, defaultWorkers), r,
		func(req reconcile.Request) []any { return []any{"Work", req.NamespacedName} })
	if err != nil {
		return nil, err
	}
	sources := []source.Source{r.hubSource(mgr.GetCache()), kube.RulesChanged(r.interpreter, r.rulesChanged)}
	if deps.Cluster != "" {
		sources = append(sources, r.clusterSource(mgr.GetCache(), deps.Cluster))
	}
	for _, from := range sources {
		if err := c.Watch(from); err != nil {
			return nil, fmt.Errorf("adding the execution controller: %w", err)
		}
	}
	for _, watch := range []manager.RunnableFunc{r.watchDeletions, r.countUnclaimed} {
		if err := mgr.Add(watch); err != nil {
			return nil, fmt.Errorf("adding the look-out for objects that do not go or belong to nobody: %w", err)
		}
	}
	return r, nil
}

// Reconcile makes the member as one Work asks for.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	work, from, err := r.works.Get(ctx, req.NamespacedName)
	switch {
	case err != nil:
		return reconcile.Result{}, err
	case from == unknown:
		return reconcile.Result{}, nil // it comes again when somebody was heard
	case from == absent:
		return reconcile.Result{}, r.absent(ctx, req, work)
	case from == hub:
		r.journal.Put(work)
	}
	if !work.DeletionTimestamp.IsZero() {
		switch {
		case from == journal: // it can end only with the hub, and the brake is there
			return reconcile.Result{}, nil
		case !contract.DeletionIntended(work.Annotations):
			return reconcile.Result{}, r.keep(ctx, req, work)
		}
		return reconcile.Result{}, r.finish(ctx, work)
	}
	manifests := plan.Parse(work)
	if fresh, dropped := r.memory.Begin(req.NamespacedName, work.Generation, objects(manifests)); fresh {
		r.backoff.Forget(req)
		if dropped || r.Unclaimed() > 0 {
			r.unclaimed.Look()
		}
	}
	if ptrTrue(work.Spec.SuspendDispatching) {
		return r.rest(ctx, req, work, manifests)
	}
	if from == hub {
		if work, err = r.hold(ctx, work); err != nil {
			return reconcile.Result{}, err
		}
	}
	return r.execute(ctx, req, work, manifests)
}

// execute applies the manifests of a Work one by one; what becomes of one does not
// concern the others.
func (r *Reconciler) execute(ctx context.Context, req reconcile.Request, work *workv1alpha1.Work, manifests []plan.Manifest) (reconcile.Result, error) {
	outcomes := make([]plan.Outcome, 0, len(manifests))
	live := make([]*unstructured.Unstructured, len(manifests))
	changed, disturbed := 0, false
	again := wait.Jitter(resync, 0.2)
	for _, m := range plan.Order(manifests) {
		step := r.manifest(ctx, req.NamespacedName, m)
		if ctx.Err() != nil {
			return reconcile.Result{}, ctx.Err()
		}
		outcomes = append(outcomes, step.outcome)
		live[m.Ordinal] = step.live
		disturbed = disturbed || step.disturbed
		if step.wait > 0 {
			again = min(again, step.wait)
		}
		if step.changed {
			changed++
		}
	}
	if err := r.kinds.Keep(ctx, req.NamespacedName, gvks(manifests)); err != nil {
		return reconcile.Result{}, err
	}
	applied := plan.Condition(outcomes)
	if plan.Newsworthy(outcomes, r.backoff.NumRequeues(req) >= quietTries, reported(work, workv1alpha1.WorkApplied)) {
		r.reporter.Report(work, []metav1.Condition{applied, plan.Dispatching(false)}, identifiers(manifests), live)
	}
	r.log(ctx, req.NamespacedName, applied, changed)
	switch {
	case disturbed:
		return reconcile.Result{RequeueAfter: firstRetry}, nil
	case plan.Settled(outcomes): // what is throttled says itself when to look again
		r.backoff.Forget(req)
		return reconcile.Result{RequeueAfter: again}, nil
	case plan.Pending(outcomes):
		return reconcile.Result{RequeueAfter: min(again, r.backoff.When(req))}, nil
	default:
		return reconcile.Result{RequeueAfter: min(again, max(r.backoff.When(req), firstRefusedRetry))}, nil
	}
}

// rest leaves the objects of a suspended Work alone, but goes on reporting them.
func (r *Reconciler) rest(ctx context.Context, req reconcile.Request, work *workv1alpha1.Work, manifests []plan.Manifest) (reconcile.Result, error) {
	name := req.NamespacedName
	live := make([]*unstructured.Unstructured, len(manifests))
	sure := true
	for _, m := range manifests {
		if m.Problem != nil {
			continue
		}
		if _, err := r.mapping(name, m.Object); err != nil {
			sure = sure && meta.IsNoMatchError(err) // of a kind that the member does not know, nothing is to be reported
			continue
		}
		if err := r.kinds.Use(ctx, name, m.Object.GroupVersionKind); err != nil {
			return reconcile.Result{}, err
		}
		seen, synced := r.kinds.Get(m.Object)
		sure = sure && synced
		if seen != nil && plan.Deletable(seen, name) {
			live[m.Ordinal] = seen
		}
	}
	if err := r.kinds.Keep(ctx, name, gvks(manifests)); err != nil {
		return reconcile.Result{}, err
	}
	suspended := plan.Dispatching(true)
	// After a restart, what was reported before holds until the objects were seen.
	if sure || !reported(work, suspended.Type) {
		r.reporter.Report(work, []metav1.Condition{suspended}, identifiers(manifests), live)
	}
	if r.memory.NoteLogged(name, suspended.Reason) {
		ctrl.LoggerFrom(ctx).Info("Leaving the objects of a suspended Work alone")
	}
	if !sure {
		return reconcile.Result{RequeueAfter: r.backoff.When(req)}, nil
	}
	r.backoff.Forget(req)
	return reconcile.Result{}, nil
}

// hold puts our finalizer on a Work that was made without: otherwise its deletion would
// look like its absence, and leave the objects behind.
func (r *Reconciler) hold(ctx context.Context, work *workv1alpha1.Work) (*workv1alpha1.Work, error) {
	if controllerutil.ContainsFinalizer(work, contract.ExecutionFinalizer) {
		return work, nil
	}
	work = work.DeepCopy()
	edit, err := kube.Begin(work)
	if err != nil {
		return nil, err
	}
	controllerutil.AddFinalizer(work, contract.ExecutionFinalizer)
	if _, err := edit.Commit(ctx, r.hubClient, contract.FieldManagerAgent); err != nil {
		return nil, err
	}
	return work, nil
}

// reported says whether the hub has a condition about this generation of a Work.
func reported(work *workv1alpha1.Work, condition string) bool {
	c := meta.FindStatusCondition(work.Status.Conditions, condition)
	return c != nil && c.ObservedGeneration == work.Generation
}

// forget drops what is remembered of a Work that is gone.
func (r *Reconciler) forget(ctx context.Context, req reconcile.Request) error {
	r.backoff.Forget(req)
	r.prerequisites.Forget(req.NamespacedName)
	r.memory.Forget(req.NamespacedName)
	return errors.Join(r.waitsNoMore(ctx, req.NamespacedName), r.kinds.Keep(ctx, req.NamespacedName, nil))
}

// log says what happened, once.
func (r *Reconciler) log(ctx context.Context, name types.NamespacedName, applied metav1.Condition, changed int) {
	fresh := r.memory.NoteLogged(name, applied.Message)
	switch {
	case applied.Status != metav1.ConditionTrue && fresh:
		ctrl.LoggerFrom(ctx).Info("Could not apply a Work", "reason", applied.Message)
	case applied.Status == metav1.ConditionTrue && changed > 0:
		ctrl.LoggerFrom(ctx).Info("Applied a Work", "objects", changed)
	}
}

func objects(manifests []plan.Manifest) []plan.Object {
	out := make([]plan.Object, 0, len(manifests))
	for _, m := range manifests {
		if m.Problem == nil {
			out = append(out, m.Object)
		}
	}
	return out
}

func gvks(manifests []plan.Manifest) map[schema.GroupVersionKind]struct{} {
	out := map[schema.GroupVersionKind]struct{}{}
	for _, m := range manifests {
		if m.Problem == nil {
			out[m.Object.GroupVersionKind] = struct{}{}
		}
	}
	return out
}

func identifiers(manifests []plan.Manifest) []workv1alpha1.ResourceIdentifier {
	out := make([]workv1alpha1.ResourceIdentifier, 0, len(manifests))
	for _, m := range manifests {
		out = append(out, m.Object.Identifier(m.Ordinal))
	}
	return out
}

func ptrTrue(b *bool) bool { return b != nil && *b }
