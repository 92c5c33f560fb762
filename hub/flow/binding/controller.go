package binding

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sync/semaphore"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/edits"
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/common/kube/fairqueue"
	"fairlead.dev/hub/flow/binding/fanout"
	"fairlead.dev/hub/flow/binding/storage"
)

// defaultWorkers is how many bindings are rendered at a time. They mostly wait for the API server.
const defaultWorkers = 12

// Deps is what the stage needs.
type Deps struct {
	// ExecutionNamespacePrefix is the prefix of the names of execution namespaces, before the name of the cluster.
	ExecutionNamespacePrefix string
	// Interpreter sets the replicas of a template.
	Interpreter interpreter.Interpreter
	// Seen says which edits the detector has seen; nil to wait for none.
	Seen *edits.Seen
	// Events receives the events for users.
	Events eventsink.Sink
	// Clock limits how long a write is remembered that the cache does not show.
	Clock clock.Clock
	// Program identifies the version of the program, since versions may render differently. If it is empty, every template is read after a
	// start.
	Program string
	// Stored counts the size of the Works of each namespace, and limits it; nil for no limit.
	Stored *storage.Ledger
	// Workers is how many bindings are rendered at a time; 0 means the default.
	Workers int
}

// Register adds the stage to a manager: one controller for each kind of binding. Works must be indexed by kube.Index.
func Register(mgr manager.Manager, deps Deps) error {
	if deps.ExecutionNamespacePrefix == "" || deps.Interpreter == nil || deps.Events == nil || deps.Clock == nil {
		return errors.New("the binding stage needs the prefix of execution namespaces, an interpreter, a sink for events and a clock")
	}
	if deps.Workers == 0 {
		deps.Workers = defaultWorkers
	}
	writing := semaphore.NewWeighted(maxWriting)
	for _, kind := range []kube.BindingKind{kube.ResourceBindings(), kube.ClusterResourceBindings()} {
		requests, options := fairqueue.New(fairqueue.SlotsOf(deps.Workers)), kube.ControllerOptions(deps.Workers)
		options.NewQueue = requests.Start
		r := &reconciler{
			hubClient:    mgr.GetClient(),
			hubReader:    mgr.GetAPIReader(),
			kind:         kind,
			prefix:       deps.ExecutionNamespacePrefix,
			program:      deps.Program,
			interpreter:  deps.Interpreter,
			seen:         deps.Seen.Waiter(),
			events:       deps.Events,
			clock:        deps.Clock,
			contents:     newContents(mgr.GetAPIReader()),
			expectations: newExpectations(deps.Clock),
			stored:       deps.Stored,
			writing:      writing,
			paced:        kube.NewPaced(deps.Clock, markEvery),
			slot:         requests.TakeSlot,
		}
		b := kube.NewController(mgr, "binding-"+strings.ToLower(kind.Kind), deps.Workers).
			WithOptions(options).
			For(kind.New(), builder.WithPredicates(bindingChanged())).
			Watches(kind.New(), r.onGone()).
			Watches(&workv1alpha1.Work{}, r.onWork()).
			Watches(&clusterv1alpha1.Cluster{}, r.onCluster(), builder.WithPredicates(clusterChanged())).
			Watches(&corev1.Namespace{}, r.onNamespace(), builder.WithPredicates(namespaceChanged())).
			Watches(&policyv1alpha1.ClusterOverridePolicy{}, r.onOverride(), builder.WithPredicates(overrideChanged())).
			Watches(&fairleadv1alpha1.StagedRollout{}, r.onRollout(), builder.WithPredicates(rolloutChanged())).
			Watches(&fairleadv1alpha1.ClusterStagedRollout{}, r.onRollout(), builder.WithPredicates(rolloutChanged())).
			Watches(&workv1alpha2.ResourceBinding{}, r.onStaged(), builder.WithPredicates(stagedChanged())).
			Watches(&workv1alpha2.ClusterResourceBinding{}, r.onStaged(), builder.WithPredicates(stagedChanged()))
		b = b.WatchesRawSource(kube.RulesChanged(r.interpreter, r.rulesChanged)).WatchesRawSource(r.paced.Source()).WatchesRawSource(r.seen.Source())
		if r.namespaced() {
			b = b.Watches(&policyv1alpha1.OverridePolicy{}, r.onOverride(), builder.WithPredicates(overrideChanged())).
				Watches(&policyv1alpha1.FederatedResourceQuota{}, r.onQuota(), builder.WithPredicates(quotaChanged()))
		}
		if err := b.Complete(kube.QuietConflicts(r)); err != nil {
			return fmt.Errorf("making the controller of %ss: %w", kind.Kind, err)
		}
	}
	return nil
}

// reconciler renders the bindings of one kind.
type reconciler struct {
	hubClient    client.Client
	hubReader    client.Reader
	kind         kube.BindingKind
	prefix       string
	program      string
	interpreter  interpreter.Interpreter
	seen         *edits.Waiter
	events       eventsink.Sink
	clock        clock.PassiveClock
	contents     *contents
	expectations *expectations
	stored       *storage.Ledger
	warned       kube.WarnOnce[types.NamespacedName]
	marks        marks
	strays       strays
	bounded      bounded
	// writing limits the manifests that are written at a time, over bindings of all kinds.
	writing *semaphore.Weighted
	// paced gives bindings their turn to write outdated marks of their Works.
	paced *kube.Paced
	// slot lets a worker go on with a large binding, or returns that the binding must wait.
	slot func(reconcile.Request) error
}

// namespaced returns whether the bindings are those of namespaced templates.
func (r *reconciler) namespaced() bool { return r.kind.Kind == kube.ResourceBindings().Kind }

// Reconcile writes the Works of one binding.
func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	isTurn := r.paced.Take(req)
	binding := r.kind.New()
	if err := r.hubClient.Get(ctx, req.NamespacedName, binding); err != nil {
		if apierrors.IsNotFound(err) {
			return r.forget(ctx, req)
		}
		return reconcile.Result{}, err
	}
	if !binding.GetDeletionTimestamp().IsZero() {
		return reconcile.Result{}, r.cleanUp(ctx, req, binding)
	}
	id := bindings.IDOf(binding)
	if id == "" {
		return reconcile.Result{}, client.IgnoreNotFound(r.identify(ctx, binding)) // the watch reports the new label
	}
	s, err := r.gather(ctx, id, binding)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("gathering what %q is rendered from: %w", binding.GetName(), err)
	}
	ahead, err := r.sendAhead(ctx, req, id, s)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("sending what %q rolls out: %w", binding.GetName(), err)
	}
	if err := r.takeSlot(req, r.unsettled(s, req)); err != nil {
		r.reportAhead(ctx, s, ahead)
		return reconcile.Result{}, err
	}
	desired, err := r.render(ctx, s, s.targets)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("rendering %q: %w", binding.GetName(), err)
	}
	desired.failures = append(desired.failures, s.refused...)
	look := r.tellUnseen(s, &desired)
	plan, err := r.plan(ctx, id, s, desired)
	if err != nil {
		return reconcile.Result{}, err
	}
	done := r.execute(ctx, id, plan, desired.manifests)
	done.written = append(ahead, done.written...)
	failed, notes := r.report(ctx, s, desired, plan, done)
	if s.terminating { // no event: the API server accepts none in such a namespace
		failed, notes = append(failed, failure{err: errNamespaceTerminating}), append([]string{s.terminatingNote()}, notes...)
	}
	r.rememberMarks(s, desired, plan)
	r.refreshMarks(ctx, req, s, isTurn)
	again, err := r.cleanUpStrays(ctx, req.NamespacedName)
	if again == 0 || look > 0 && look < again {
		again = look
	}
	err = errors.Join(desired.err(), done.err(), err)
	if look == 0 { // otherwise nothing was rendered, and the reported failures stay
		err = errors.Join(err, r.keepCondition(ctx, binding, failed, notes))
	}
	return reconcile.Result{RequeueAfter: again}, err
}

// forget lets go of a binding that no longer exists, and cleans up Works that it left.
func (r *reconciler) forget(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	r.warned.Forget(req.NamespacedName)
	if err := r.takeSlot(req, len(r.strays.of(req.NamespacedName))); err != nil {
		return reconcile.Result{}, err
	}
	again, err := r.cleanUpStrays(ctx, req.NamespacedName)
	return reconcile.Result{RequeueAfter: again}, err
}

// plan decides which Works are written and deleted, and confirms it with what the API server has.
func (r *reconciler) plan(ctx context.Context, id string, s *scope, desired rendering) (fanout.Plan, error) {
	plan := fanout.Decide(fanout.Input{
		ID: id, Desired: desired.works, Live: s.works, Keep: desired.keep, Purge: s.purge, Suspect: s.suspect, Reasons: s.reasons,
		Preserve: r.preserves(s.binding),
	})
	if err := r.keepUnreplaced(ctx, s, &plan); err != nil {
		return plan, err
	}
	plan.Moves = r.leaving(s) >= len(plan.Create)
	if err := r.confirm(ctx, s.binding, plan); err != nil {
		return plan, err
	}
	return plan, r.confirmRefused(ctx, s, plan)
}

// cleanUp deletes the Works of a binding that is being deleted, then lets it go. It
// does not wait for the agents: the Works stay until they have done their part.
func (r *reconciler) cleanUp(ctx context.Context, req reconcile.Request, binding kube.Binding) error {
	if !controllerutil.ContainsFinalizer(binding, bindings.Finalizer(binding.GetNamespace())) {
		return nil
	}
	if id := bindings.IDOf(binding); id != "" {
		unseen := r.expectations.pending(id)
		works, err := kube.WorksOf(ctx, r.hubClient, binding)
		if err != nil {
			return err
		}
		plan := fanout.Decide(fanout.Input{
			ID: id, Live: latestWorks(binding, unseen, works), Reasons: fanout.Reasons{Removed: true}, Preserve: r.preserves(binding),
		})
		if err := r.takeSlot(req, len(plan.Delete)); err != nil {
			return err
		}
		if err := r.preserveAsPolicySays(ctx, binding, plan); err != nil {
			return err
		}
		if err := r.confirm(ctx, binding, plan); err != nil { // after other bindings were read
			return err
		}
		done := r.execute(ctx, id, plan, nil)
		if err := done.err(); err != nil {
			if !apierrors.IsConflict(err) {
				r.reportCleanUp(ctx, binding, err)
			}
			return err
		}
		if len(plan.Delete) > 0 {
			ctrl.LoggerFrom(ctx).Info("Deleted the Works of a deleted binding", "count", len(plan.Delete))
		}
	}
	edit, err := kube.Begin(binding)
	if err != nil {
		return err
	}
	controllerutil.RemoveFinalizer(binding, bindings.Finalizer(binding.GetNamespace()))
	if _, err := edit.Commit(ctx, r.hubClient, contract.FieldManagerBinding); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("letting %q go: %w", binding.GetName(), err)
	}
	r.warned.Forget(client.ObjectKeyFromObject(binding))
	return nil
}
