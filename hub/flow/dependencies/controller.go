package dependencies

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/common/kube/watchset"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/flow/dependencies/attach"
	"fairlead.dev/hub/flow/dependencies/plan"
)

const (
	// workers is the number of concurrent reconciles, which mostly wait for the API server.
	workers = 4
	// untilServed is when to check again for a kind that the hub does not serve.
	untilServed = 10 * time.Second
	// untilRoom is when to try again to attach an object whose binding has no room.
	untilRoom = 10 * time.Minute
)

// Deps is what the stage needs.
type Deps struct {
	// Exclusions say which objects stay on the hub, even if a workload needs them.
	Exclusions selector.Exclusions
	// Interpreter returns what a template needs.
	Interpreter interpreter.Interpreter
	// RulesNow returns the version of the Interpreter's rules for a kind, read live; nil if the rules never change.
	RulesNow func(ctx context.Context, kind schema.GroupVersionKind) (string, error)
	// Informers are the informers of the manager's cache.
	Informers *watchset.MetadataInformers
	// Events receives the events for users.
	Events eventsink.Sink
	// Clock limits how long a write is remembered that the cache does not show.
	Clock clock.PassiveClock
	// AllNamespaces sends every namespace of the hub to every cluster. Otherwise a namespace goes where its objects go.
	AllNamespaces bool
	// Deferred receives the origins of the lists of dependencies, for the next write of the binding's status. If it is nil, they are not
	// recorded.
	Deferred *kube.DeferredStatus
	// Program identifies the version of the program, since versions may read templates differently. If it is empty, every template is read
	// after a start.
	Program string
}

// request names a binding; one without a namespace is a ClusterResourceBinding.
type request = types.NamespacedName

// Reconciler is the reconciler of the stage.
type Reconciler struct {
	hubClient   client.Client
	liveReader  client.Reader
	interpreter interpreter.Interpreter
	rulesNow    func(context.Context, schema.GroupVersionKind) (string, error)
	exclusions  selector.Exclusions
	events      eventsink.Sink
	program     string

	wants  *attach.Wants
	read   *memory
	warned kube.WarnOnce[request]
	kinds  *kinds
	wrote  *kube.Written[types.NamespacedName, kube.Binding]
	// departed has the bindings that this process saw deleted.
	departed departed
	// deferred has the origins that the bindings do not record yet.
	deferred *kube.DeferredStatus
}

// Register adds the stage to a manager.
func Register(mgr manager.Manager, deps Deps) error {
	if deps.Interpreter == nil || deps.Informers == nil || deps.Events == nil || deps.Clock == nil {
		return errors.New("registering the dependencies stage: it needs an interpreter, informers, an event sink and a clock")
	}
	served, err := watchset.ServedBy(mgr, deps.Clock)
	if err != nil {
		return fmt.Errorf("registering the dependencies stage: %w", err)
	}
	r := &Reconciler{
		hubClient: mgr.GetClient(), liveReader: mgr.GetAPIReader(),
		interpreter: deps.Interpreter, rulesNow: deps.RulesNow, exclusions: deps.Exclusions, events: deps.Events, program: deps.Program,
		wants: &attach.Wants{}, read: newMemory(),
		wrote: kube.NewWritten[types.NamespacedName, kube.Binding](deps.Clock), deferred: deps.Deferred,
	}
	r.kinds = newKinds(watchset.Deps{
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

// Reconcile attaches what the workload of one binding needs.
func (r *Reconciler) Reconcile(ctx context.Context, req request) (reconcile.Result, error) {
	b, err := r.binding(ctx, req)
	switch {
	case err != nil:
		return reconcile.Result{}, err
	case b != nil && b.GetDeletionTimestamp() == nil && attach.Abandoned(b):
		return reconcile.Result{}, r.abandon(ctx, b)
	case letsNothingFollow(b):
		return reconcile.Result{}, r.release(ctx, req, b)
	case len(b.BindingSpec().Clusters) == 0 && !marked(b):
		return reconcile.Result{}, nil // nothing has been scheduled yet
	}
	return r.follow(ctx, req, b)
}

// follow attaches what the workload of a binding needs, and detaches what it does not need any more.
func (r *Reconciler) follow(ctx context.Context, req request, b kube.Binding) (reconcile.Result, error) {
	read, err := r.references(ctx, b)
	if errors.Is(err, errGone) {
		return reconcile.Result{}, nil // its binding is deleted next, which triggers a reconcile
	}
	if err != nil {
		r.tellFailed(req, b, err)
		return reconcile.Result{}, err
	}
	r.warned.Resolved(req, reasonGetDependenciesFailed)
	in, err := r.gather(ctx, req, b, read)
	if later, ok := errors.AsType[syncing](err); ok {
		return reconcile.Result{RequeueAfter: later.again}, r.noteEarly(ctx, in) // an object that is not listed yet may exist
	}
	if err != nil {
		return reconcile.Result{}, errors.Join(err, r.noteEarly(ctx, in))
	}
	p := plan.Decide(in.Input)
	if p.Reread {
		r.read.doubt(req)
		return r.follow(ctx, req, b)
	}
	done, err := r.commit(ctx, in, p)
	r.report(in, p, done, err)
	if err != nil {
		return reconcile.Result{}, err
	}
	if p.Complete {
		r.rememberOrigin(b, read)
	} else {
		r.dropOrigin(req)
	}
	switch {
	case len(done.leftOut) > 0:
		return reconcile.Result{RequeueAfter: untilRoom}, nil
	case p.Unserved:
		return reconcile.Result{RequeueAfter: untilServed}, nil
	}
	return reconcile.Result{}, r.kinds.stopUnneeded(ctx)
}

// errGone means that the template of a binding does not exist any more.
var errGone = errors.New("the template is gone")
