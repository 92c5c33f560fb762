package detector

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
	"fairlead.dev/common/kube/edits"
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/common/kube/watchset"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/flow/detector/plan"
)

// defaultWorkers is the number of workers if none is given. A reconcile mostly waits for the API server.
const defaultWorkers = 8

// Deps is what the stage needs.
type Deps struct {
	// Exclusions say which objects are never templates.
	Exclusions selector.Exclusions
	// Interpreter says how many replicas a template asks for.
	Interpreter interpreter.Interpreter
	// Informers are the informers of the manager's cache.
	Informers *watchset.MetadataInformers
	// Seen is told which templates were seen; nil for nobody.
	Seen *edits.Seen
	// Events receives the events for users.
	Events eventsink.Sink
	// Clock limits how long a write is remembered that the cache does not show.
	Clock clock.PassiveClock
	// Workers is the number of concurrent reconciles; 0 means the default.
	Workers int
}

// Reasons why a template cannot be read.
var (
	// errComponents and errReplicas mean that the interpretation rules of the kind failed to read the template's components or replicas.
	errComponents = errors.New("reading the components")
	errReplicas   = errors.New("reading the replicas")
	// errGone means that the template does not exist any more. Its watch will report that.
	errGone = errors.New("the template is gone")
)

// request names what to reconcile: a template; a policy, if the kind is a policy kind; a kind, if there is no name; and without a kind, all
// kinds that the API did not serve.
type request struct {
	Kind      schema.GroupVersionKind
	Namespace string
	Name      string
}

// Reconciler is the reconciler of the stage.
type Reconciler struct {
	hubClient   client.Client
	liveReader  client.Reader
	interpreter interpreter.Interpreter
	events      eventsink.Sink
	seen        *edits.Seen
	exclusions  selector.Exclusions

	queue    *queue
	clock    clock.PassiveClock
	kinds    *kinds
	bindings *kube.Written[types.NamespacedName, kube.Binding]
	warned   kube.WarnOnce[request]
	// remarked are the warnings that were given about templates that are bound nevertheless.
	remarked kube.WarnOnce[request]
	initial  initialPolicies
	// priorities caches the values of the PriorityClasses that policies name.
	priorities priorities
}

// Register adds the stage to a manager.
func Register(mgr manager.Manager, deps Deps) error {
	r, err := newReconciler(mgr, deps)
	if err != nil {
		return fmt.Errorf("registering the detector: %w", err)
	}
	workers := deps.Workers
	if workers == 0 {
		workers = defaultWorkers
	}
	c, err := kube.NewTypedController(mgr, "detector", workers, r, func(req request) []any {
		return []any{"kind", req.Kind.String(), "namespace", req.Namespace, "name", req.Name}
	})
	if err != nil {
		return err
	}
	for _, src := range r.sources(mgr) {
		if err := c.Watch(src); err != nil {
			return fmt.Errorf("registering the detector: %w", err)
		}
	}
	return nil
}

func newReconciler(mgr manager.Manager, deps Deps) (*Reconciler, error) {
	if deps.Interpreter == nil || deps.Informers == nil || deps.Events == nil || deps.Clock == nil {
		return nil, errors.New("it needs an interpreter, informers, an event sink and a clock")
	}
	served, err := watchset.ServedBy(mgr, deps.Clock)
	if err != nil {
		return nil, err
	}
	q := &queue{}
	return &Reconciler{
		hubClient:   mgr.GetClient(),
		liveReader:  mgr.GetAPIReader(),
		interpreter: deps.Interpreter,
		events:      deps.Events,
		seen:        deps.Seen,
		exclusions:  deps.Exclusions,
		queue:       q,
		kinds: newKinds(watchset.Deps{
			Informers: deps.Informers, Cache: mgr.GetCache(), Live: mgr.GetAPIReader(), Mapper: mgr.GetRESTMapper(), Served: served,
			Clock: deps.Clock,
		}, q),
		bindings: kube.NewWritten[types.NamespacedName, kube.Binding](deps.Clock),
		clock:    deps.Clock,
	}, nil
}

// Reconcile handles one request.
func (r *Reconciler) Reconcile(ctx context.Context, req request) (reconcile.Result, error) {
	switch {
	case req == request{}:
		return r.reconcileUnserved(ctx)
	case req.Name == "":
		return r.reconcileKind(ctx, req.Kind)
	case isPolicy(req.Kind):
		return r.reconcilePolicy(ctx, req)
	default:
		return r.reconcileTemplate(ctx, req)
	}
}

// reconcileTemplate writes the binding that the template's policy asks for, or takes the claim off if no policy selects the template.
func (r *Reconciler) reconcileTemplate(ctx context.Context, req request) (reconcile.Result, error) {
	in, later, err := r.gather(ctx, req)
	if in == nil || err != nil {
		return later, err
	}
	p := plan.Decide(in.Input)
	if p.Read && p.Claim == nil { // no write of the claim brings the template
		if err = r.gatherDemand(ctx, in); err == nil {
			p = plan.Decide(in.Input)
		}
	}
	var done written
	if err == nil {
		r.plans(in, p)
		done, err = r.commit(ctx, in, p)
	}
	tooLarge := errors.Is(err, errTooLarge)
	if err == nil {
		r.sees(in, p)
	} else if failed := r.restage(ctx, in, p, err); failed != nil {
		tooLarge, err = false, errors.Join(err, failed)
	}
	if errors.Is(err, errGone) {
		return reconcile.Result{}, nil
	}
	if p.Outcome == plan.Elsewhere {
		r.askElsewhere(in)
	}
	r.report(ctx, in, p, done, err)
	if tooLarge {
		return reconcile.Result{RequeueAfter: repeatAfter}, nil // the next edit of the policy or the template triggers a reconcile
	}
	return reconcile.Result{RequeueAfter: lookAgain(p.Outcome)}, err
}

// lookAgain returns when to reconcile a template again although nothing changed; 0 if that is not necessary.
func lookAgain(o plan.Outcome) time.Duration {
	switch o {
	case plan.NameTaken, plan.NoPriority:
		return askAgain // nothing else may report when that is resolved
	case plan.Waiting:
		return repeatAfter // the event to the author is repeated
	default:
		return 0
	}
}
