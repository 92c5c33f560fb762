package status

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/hub/flow/status/aggregate"
)

// defaultWorkers is the default of Deps.Workers. A reconcile spends most of its time waiting for the API server.
const defaultWorkers = 8

// Deps is what the stage needs.
type Deps struct {
	// ExecutionNamespacePrefix is the prefix of execution namespaces; empty means contract.DefaultExecutionNamespacePrefix.
	ExecutionNamespacePrefix string
	// Interpreter aggregates the statuses that clusters report of a kind.
	Interpreter interpreter.Interpreter
	// Events receives the stage's events.
	Events eventsink.Sink
	// Clock is the time of conditions and delays.
	Clock clock.Clock
	// Registry registers the metrics; nil means that of the process.
	Registry prometheus.Registerer
	// Deferred are fields of a binding's status that other stages own and that are not urgent. They are included in this stage's
	// next patch of the binding.
	Deferred []*kube.DeferredStatus
	// Program identifies the running build of the hub, since another may aggregate differently. If it is empty, every template is
	// read after a start.
	Program string
	// Workers is the number of concurrent reconciles; 0 means defaultWorkers.
	Workers int
}

// Reconciler reconciles bindings. A request without a namespace names a ClusterResourceBinding.
type Reconciler struct {
	hubClient   client.Client
	liveReader  client.Reader
	interpreter interpreter.Interpreter
	events      eventsink.Sink
	clock       clock.PassiveClock
	prefix      string
	program     string

	bindings *kube.Written[types.NamespacedName, kube.Binding]
	pending  *pendingTemplates
	partial  *partial
	awaited  *awaited
	renders  *renders
	known    *remembered
	outdated *outdated
	// paced rate-limits the writes of outdated.
	paced    *kube.Paced
	deferred []*kube.DeferredStatus
}

// Register adds the stage to a manager.
func Register(mgr manager.Manager, deps Deps) error {
	if deps.Interpreter == nil || deps.Events == nil || deps.Clock == nil {
		return errors.New("registering the status stage: it needs an interpreter, an event sink and a clock")
	}
	prefix := deps.ExecutionNamespacePrefix
	if prefix == "" {
		prefix = contract.DefaultExecutionNamespacePrefix
	}
	if deps.Registry == nil {
		deps.Registry = metrics.Registry
	}
	workers := deps.Workers
	if workers == 0 {
		workers = defaultWorkers
	}
	r := &Reconciler{
		hubClient:   mgr.GetClient(),
		liveReader:  mgr.GetAPIReader(),
		interpreter: deps.Interpreter,
		events:      deps.Events,
		clock:       deps.Clock,
		prefix:      prefix,
		program:     deps.Program,
		bindings:    kube.NewWritten[types.NamespacedName, kube.Binding](deps.Clock),
		pending:     newPendingTemplates(),
		partial:     newPartial(),
		awaited:     newAwaited(newAggregation(deps.Registry)),
		renders:     newRenders(),
		known:       newRemembered(),
		outdated:    newOutdated(),
		paced:       kube.NewPaced(deps.Clock, madeOfEvery),
		deferred:    deps.Deferred,
	}
	watching := r.watch(kube.NewController(mgr, "status", workers)).WatchesRawSource(r.paced.Source())
	if err := watching.Complete(kube.QuietConflicts(r)); err != nil {
		return fmt.Errorf("registering the status stage: %w", err)
	}
	return nil
}

// Reconcile updates the status of a binding and of its template.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	isTurn := r.paced.Take(req)
	b, err := r.binding(ctx, req.NamespacedName)
	if err != nil {
		return reconcile.Result{}, err
	}
	if b == nil || b.GetDeletionTimestamp() != nil || bindings.IDOf(b) == "" {
		r.forget(req.NamespacedName)
		return reconcile.Result{}, nil
	}
	in, known, unrendered, err := r.gather(ctx, req.NamespacedName, b)
	if err != nil {
		return reconcile.Result{}, err
	}
	out := aggregate.Decide(in)
	if out.Early {
		return reconcile.Result{RequeueAfter: out.Wait}, nil
	}
	if wait := r.partial.wait(req.NamespacedName, out.Partial, r.clock.Now()); wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	if out.Unshown != "" && out.Unshown != known.unshown && !r.isWritten(b, out.Unshown) {
		out.Changed = true // a status that does not fit in the binding may have changed, which only the template's status shows
	}
	if !out.Changed && r.pending.has(req.NamespacedName) && r.isWritten(b, out.Unshown) {
		r.pending.settle(req.NamespacedName)
	}
	if !out.Changed && !r.pending.has(req.NamespacedName) {
		r.awaited.drop(req.NamespacedName)
		// A mark that could not be written when the rest was is still to be.
		err := errors.Join(r.markWorks(ctx, b, in.Reports, out.Items), r.writeMadeOf(ctx, req, b, out.Unshown, isTurn))
		return reconcile.Result{RequeueAfter: known.wait(unrendered, in.Now)}, err
	}

	// Write the template first: if the hub stops in between, the binding is still outdated, and both are written again.
	of, templateErr := r.updateTemplate(ctx, b, in, &out, known)
	r.known.keep(req.NamespacedName, known)
	if apierrors.IsConflict(templateErr) {
		return reconcile.Result{}, templateErr
	}
	// A Work that cannot be marked, of which much is its agent's, keeps nothing of the other clusters from the binding.
	marksErr := r.markWorks(ctx, b, in.Reports, out.Items)
	if err := r.updateBinding(ctx, req.NamespacedName, b, out, of); err != nil {
		return reconcile.Result{}, errors.Join(err, marksErr)
	}
	r.settle(req.NamespacedName, b, templateErr)
	r.noteMadeOf(req, b, of, out.Unshown)
	if templateErr == nil {
		r.awaited.end(req.NamespacedName, r.clock.Now())
	}
	return reconcile.Result{RequeueAfter: known.wait(unrendered, in.Now)}, errors.Join(templateErr, marksErr)
}

// forget lets go of all that is remembered of a binding.
func (r *Reconciler) forget(key types.NamespacedName) {
	r.pending.forget(key)
	r.partial.forget(key)
	r.awaited.drop(key)
	r.renders.forget(key)
	r.known.forget(key)
	r.outdated.forget(key)
}

// updateBinding writes the decision and templateStatusOf to the binding, and emits the events.
func (r *Reconciler) updateBinding(ctx context.Context, key types.NamespacedName, b kube.Binding, out aggregate.Decision, of string) error {
	if !out.Changed {
		return nil
	}
	edit, err := kube.Begin(b)
	if err != nil {
		return err
	}
	status := b.BindingStatus()
	before := slices.Clone(status.Conditions)
	status.AggregatedStatus, status.TemplateStatusOf = out.Items, of
	meta.SetStatusCondition(&status.Conditions, out.FullyApplied)
	meta.RemoveStatusCondition(&status.Conditions, workv1alpha2.BindingStale)
	if out.Stale != nil {
		c := *out.Stale
		if before := meta.FindStatusCondition(before, c.Type); before != nil {
			c.LastTransitionTime = before.LastTransitionTime
		}
		meta.SetStatusCondition(&status.Conditions, c)
	}
	for _, deferred := range r.deferred {
		deferred.Include(b)
	}
	wrote, err := edit.Commit(ctx, r.hubClient, contract.FieldManagerStatus)
	if !wrote || err != nil {
		return client.IgnoreNotFound(err)
	}
	b.SetManagedFields(nil)
	r.bindings.Put(key, b)
	ctrl.LoggerFrom(ctx).Info("Aggregated status of binding",
		"fullyApplied", out.FullyApplied.Status, "reason", out.FullyApplied.Message)
	for _, item := range out.Refused {
		r.events(refusedOnTemplate(b, item))
		r.events(refusedOnBinding(b, item))
	}
	r.events(aggregatedOnBinding(b))
	return nil
}

// settle records whether the template still has to be written. If writing it failed, it emits an event, once for each reason.
func (r *Reconciler) settle(key types.NamespacedName, b kube.Binding, err error) {
	if err == nil {
		r.pending.settle(key)
		return
	}
	if r.pending.failed(key, err.Error()) && !errors.Is(err, context.Canceled) {
		r.events(notAggregated(b, err))
	}
}
