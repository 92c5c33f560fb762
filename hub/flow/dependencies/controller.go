package dependencies

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"fairlead.dev/common/bindings"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/flow/dependencies/attach"
)

const (
	// workers is how many bindings are worked on at once; they wait for the API server.
	workers = 4
	// untilServed is when to ask again for a kind that the hub does not know.
	untilServed = 10 * time.Second
	// untilRoom is when to try again to attach what a binding has no room for. Each try sends that whole binding.
	untilRoom = 10 * time.Minute
)

// Deps is what the stage needs.
type Deps struct {
	// Exclusions say what stays on the hub, whoever needs it.
	Exclusions selector.Exclusions
	// Interpreter says what a template needs.
	Interpreter interpreter.Interpreter
	// RulesNow returns the version of the Interpreter's rules for a kind by what the API has now; nil if its rules never change.
	RulesNow func(ctx context.Context, kind schema.GroupVersionKind) (string, error)
	// Informers are the informers of the manager's cache.
	Informers *kube.MetadataInformers
	// Events gets what people are told.
	Events kube.EventSink
	// Clock says for how long to remember a write that the cache does not show.
	Clock clock.PassiveClock
	// AllNamespaces sends every namespace of the hub to every cluster; else a namespace goes
	// where something of it goes.
	AllNamespaces bool
	// Deferred gets what the lists of what workloads need were read from, for whoever writes the status of a binding next. If it is nil,
	// that is not remembered.
	Deferred *kube.DeferredStatus
	// Program tells the program that reads templates from others, which may do so otherwise. If it is empty, every
	// template is read after a start.
	Program string
}

// request names a binding; one without a namespace is a ClusterResourceBinding.
type request = types.NamespacedName

// Reconciler does the work of the stage.
type Reconciler struct {
	hubClient   client.Client
	liveReader  client.Reader
	interpreter interpreter.Interpreter
	rulesNow    func(context.Context, schema.GroupVersionKind) (string, error)
	exclusions  selector.Exclusions
	events      kube.EventSink
	program     string

	wants  *attach.Wants
	read   *memory
	warned kube.WarnOnce[request]
	kinds  *kinds
	wrote  *kube.Written[types.NamespacedName, kube.Binding]
	// departed has which bindings were seen to go.
	departed departed
	// deferred has what the bindings do not say yet of what their lists were read from.
	deferred *kube.DeferredStatus
}

// Register adds the stage to a manager.
func Register(mgr manager.Manager, deps Deps) error {
	if deps.Interpreter == nil || deps.Informers == nil || deps.Events == nil || deps.Clock == nil {
		return errors.New("registering the dependencies stage: it needs an interpreter, informers, an event sink and a clock")
	}
	served, err := kube.ServedBy(mgr, deps.Clock)
	if err != nil {
		return fmt.Errorf("registering the dependencies stage: %w", err)
	}
	r := &Reconciler{
		hubClient: mgr.GetClient(), liveReader: mgr.GetAPIReader(),
		interpreter: deps.Interpreter, rulesNow: deps.RulesNow, exclusions: deps.Exclusions, events: deps.Events, program: deps.Program,
		wants: &attach.Wants{}, read: newMemory(),
		wrote: kube.NewWritten[types.NamespacedName, kube.Binding](deps.Clock), deferred: deps.Deferred,
	}
	r.kinds = newKinds(kube.WatchSetDeps{
		Informers: deps.Informers, Cache: mgr.GetCache(), Live: mgr.GetAPIReader(), Mapper: mgr.GetRESTMapper(), Served: served,
		Clock: deps.Clock,
	}, r.wants)
	c, err := kube.NewTypedController(mgr, "dependencies", workers, r, func(req request) []any {
		return []any{"namespace", req.Namespace, "name", req.Name}
	})
	if err != nil {
		return err
	}
	for _, src := range r.sources(mgr) {
		if err := c.Watch(src); err != nil {
			return fmt.Errorf("registering the dependencies stage: %w", err)
		}
	}
	return registerNamespaces(mgr, r, deps)
}

// Reconcile lets what the workload of one binding needs follow it.
func (r *Reconciler) Reconcile(ctx context.Context, req request) (reconcile.Result, error) {
	b, err := r.binding(ctx, req)
	if err != nil {
		return reconcile.Result{}, err
	}
	if b != nil && b.GetDeletionTimestamp() == nil && attach.Abandoned(b) {
		return reconcile.Result{}, r.abandon(ctx, b)
	}
	if letsNothingFollow(b) {
		return reconcile.Result{}, r.release(ctx, req, b)
	}
	if len(b.BindingSpec().Clusters) == 0 && !marked(b) {
		return reconcile.Result{}, nil // nothing has been scheduled yet
	}
	read, err := r.references(ctx, b)
	if errors.Is(err, errGone) {
		return reconcile.Result{}, nil // its binding goes next, and wakes us
	}
	if err != nil {
		r.tellFailed(req, b, err)
		return reconcile.Result{}, err
	}
	r.warned.Resolved(req, reasonGetDependenciesFailed)
	attached, err := r.attached(ctx, req)
	if err != nil {
		return reconcile.Result{}, err
	}
	by := r.answerersOf(b)
	orphans := by.orphans(read.refs, attached)
	named := slices.Concat(read.refs, orphans)
	older := held(b, named, attached)
	refs := slices.Concat(named, older)
	if err := r.wants.Set(req, append(grantsWanted(b, refs), refs...)); err != nil {
		return reconcile.Result{}, reconcile.TerminalError(fmt.Errorf("reading what %q needs: %w", req, err))
	}
	permitted, err := r.permit(ctx, b, refs)
	switch {
	case err != nil:
		return reconcile.Result{}, err
	case permitted.syncing:
		return reconcile.Result{RequeueAfter: permitted.again}, nil
	}
	r.tellOrphans(req, b, by, orphans)
	refs = without(permitted.granted, older)
	// What goes out in waves goes out with what it needs: that is noted once all of it is attached.
	if bindings.IsStaged(b) && !marked(b) {
		err = r.keep(ctx, b)
	} else if !bindings.IsStaged(b) {
		err = r.mark(ctx, b, refs, by.noted(orphans))
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	found, err := r.find(ctx, permitted.granted)
	if err != nil {
		return reconcile.Result{}, err
	}
	staying, err := r.staying(ctx, permitted, attached)
	switch {
	case err != nil:
		return reconcile.Result{}, err
	case found.syncing, staying.syncing:
		return reconcile.Result{RequeueAfter: max(found.again, staying.again)}, nil // what is not listed yet is not gone
	}
	r.tellWithheld(req, b, permitted, staying.objects)
	found.objects, found.unserved = append(found.objects, staying.objects...), append(found.unserved, staying.unserved...)
	found.permitted, found.rules = permitted, read.rules
	if read.unchanged && !found.isAttached(b, attached) {
		r.read.doubt(req)
		return r.Reconcile(ctx, req)
	}
	leftOut, err := r.follow(ctx, req, b, found, attached)
	if err != nil {
		r.tellNotFollowing(req, b, err)
		return reconcile.Result{}, err
	}
	if bindings.IsStaged(b) { // also if something is left out: that may be so for good, and is no reason to hold up what is not
		if err := r.mark(ctx, b, refs, by.noted(orphans)); err != nil {
			return reconcile.Result{}, err
		}
	}
	if err := r.tellLeftOut(ctx, req, b, leftOut); err != nil {
		return reconcile.Result{}, err
	}
	if len(orphans) > 0 { // it is what there was that says these
		r.dropOrigin(req)
	} else {
		r.rememberOrigin(b, read, permitted)
	}
	switch {
	case len(leftOut) > 0:
		return reconcile.Result{RequeueAfter: untilRoom}, nil
	case len(found.unserved) > 0, permitted.unserved:
		return reconcile.Result{RequeueAfter: untilServed}, nil
	}
	return reconcile.Result{}, r.kinds.stopUnneeded(ctx)
}

// ofAnother says whether a binding names a template that is not in its own namespace. The hub makes none: whoever may write
// bindings in one namespace would have what the workloads of others need sent anywhere.
func ofAnother(b kube.Binding) bool { return b.BindingSpec().Resource.Namespace != b.GetNamespace() }

// errGone means that the template of a binding is not there any more.
var errGone = errors.New("the template is gone")
