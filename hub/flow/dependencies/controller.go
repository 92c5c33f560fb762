package dependencies

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
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
)

// Deps is what the stage needs.
type Deps struct {
	// Exclusions say what stays on the hub, whoever needs it.
	Exclusions selector.Exclusions
	// Interpreter says what a template needs.
	Interpreter interpreter.Interpreter
	// Informers are those of the manager's cache.
	Informers *kube.MetadataInformers
	// Events gets what people are told.
	Events kube.EventSink
	// Clock says for how long to remember a write that the cache does not show.
	Clock clock.PassiveClock
	// AllNamespaces sends every namespace of the hub to every cluster; else a namespace goes
	// where something of it goes.
	AllNamespaces bool
}

// request names a binding; one without a namespace is a ClusterResourceBinding.
type request = types.NamespacedName

// Reconciler does the work of the stage.
type Reconciler struct {
	hubClient   client.Client
	liveReader  client.Reader
	interpreter interpreter.Interpreter
	exclusions  selector.Exclusions
	events      kube.EventSink

	wants  *attach.Wants
	read   *memory
	warned kube.WarnOnce[request]
	kinds  *kinds
	wrote  *kube.Written[types.NamespacedName, kube.Binding]
}

// Register adds the stage to a manager.
func Register(mgr manager.Manager, deps Deps) error {
	if deps.Interpreter == nil || deps.Informers == nil || deps.Events == nil || deps.Clock == nil {
		return errors.New("registering the dependencies stage: it needs an interpreter, informers, an event sink and a clock")
	}
	r := &Reconciler{
		hubClient: mgr.GetClient(), liveReader: mgr.GetAPIReader(),
		interpreter: deps.Interpreter, exclusions: deps.Exclusions, events: deps.Events,
		wants: &attach.Wants{}, read: newMemory(),
		wrote: kube.NewWritten[types.NamespacedName, kube.Binding](deps.Clock),
	}
	r.kinds = newKinds(kube.WatchSetDeps{
		Informers: deps.Informers, Cache: mgr.GetCache(), Live: mgr.GetAPIReader(), Mapper: mgr.GetRESTMapper(), Clock: deps.Clock,
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
	if b == nil || b.GetDeletionTimestamp() != nil || !b.BindingSpec().PropagateDeps || ofAnother(b) {
		return reconcile.Result{}, r.release(ctx, req, b)
	}
	if len(b.BindingSpec().Clusters) == 0 && !marked(b) {
		return reconcile.Result{}, nil // nothing has been scheduled yet
	}
	refs, err := r.references(ctx, b)
	if errors.Is(err, errGone) {
		return reconcile.Result{}, nil // its binding goes next, and wakes us
	}
	if err != nil {
		r.tellFailed(req, b, err)
		return reconcile.Result{}, err
	}
	r.warned.Resolved(req, reasonGetDependenciesFailed)
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
	r.tellWithheld(req, b, permitted)
	refs = permitted.granted
	// What goes out in waves goes out with what it needs: that is noted once all of it is attached.
	if bindings.IsStaged(b) && !marked(b) {
		err = r.keep(ctx, b)
	} else if !bindings.IsStaged(b) {
		err = r.mark(ctx, b, refs)
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	found, err := r.find(ctx, refs)
	switch {
	case err != nil:
		return reconcile.Result{}, err
	case found.syncing:
		return reconcile.Result{RequeueAfter: found.again}, nil // what is not listed yet is not gone
	}
	found.ungrantable = permitted.unserved
	if err := r.follow(ctx, req, b, found); err != nil {
		r.tellNotFollowing(req, b, err)
		return reconcile.Result{}, err
	}
	r.warned.Resolved(req, reasonSyncFailed)
	if bindings.IsStaged(b) {
		if err := r.mark(ctx, b, refs); err != nil {
			return reconcile.Result{}, err
		}
	}
	if len(found.unserved) > 0 || permitted.unserved {
		return reconcile.Result{RequeueAfter: untilServed}, nil
	}
	return reconcile.Result{}, r.kinds.stopUnneeded(ctx)
}

// ofAnother says whether a binding names a template that is not in its own namespace. The hub makes none: whoever may write
// bindings in one namespace would have what the workloads of others need sent anywhere.
func ofAnother(b kube.Binding) bool { return b.BindingSpec().Resource.Namespace != b.GetNamespace() }

// follow detaches what is not needed any more and attaches what is. What cannot be known
// stays as it is.
func (r *Reconciler) follow(ctx context.Context, req request, b kube.Binding, f finding) error {
	needed := map[types.NamespacedName]object{}
	for _, o := range f.objects {
		needed[o.binding()] = o
	}
	attached, err := r.attached(ctx, req)
	if err != nil {
		return err
	}
	var unneeded []kube.Binding
	for _, other := range attached {
		kind := kindOf(other)
		if f.ungrantable && b.GetNamespace() != "" && other.GetNamespace() != "" && other.GetNamespace() != b.GetNamespace() {
			continue // that the kind went took nobody's grant back
		}
		if o, still := needed[client.ObjectKeyFromObject(other)]; (!still || o.kind != kind) && !slices.Contains(f.unserved, kind) {
			unneeded = append(unneeded, other)
		}
	}
	var failures []error
	if len(unneeded) > 0 {
		inUse, all, err := r.inUse(ctx, b)
		if err != nil {
			failures = append(failures, err)
		}
		for _, other := range unneeded {
			if _, needs := inUse[client.ObjectKeyFromObject(other)]; needs || all || err != nil {
				continue // some cluster may have a revision that needs it
			}
			failures = append(failures, r.detach(ctx, other, req))
		}
	}
	for _, o := range f.objects {
		if o.meta.DeletionTimestamp == nil { // what is going is neither attached anew nor detached early
			failures = append(failures, r.attach(ctx, o, b))
		}
	}
	return errors.Join(failures...)
}

// release lets go of all that followed a binding which is gone, is going or wants it so.
func (r *Reconciler) release(ctx context.Context, req request, b kube.Binding) error {
	attached, err := r.attached(ctx, req)
	if err != nil {
		return err
	}
	var failures []error
	for _, other := range attached {
		failures = append(failures, r.detach(ctx, other, req))
	}
	if err := errors.Join(failures...); err != nil {
		return err
	}
	r.read.forget(req)
	r.warned.Forget(req)
	if err := r.wants.Set(req, nil); err != nil {
		return err
	}
	if b != nil {
		if err := r.unmark(ctx, b); err != nil {
			return client.IgnoreNotFound(err)
		}
	}
	return r.kinds.stopUnneeded(ctx)
}

// attach makes the binding of an object follow that of a workload.
func (r *Reconciler) attach(ctx context.Context, o object, independent kube.Binding) error {
	key := o.binding()
	b, err := r.bindingAt(ctx, key)
	if err != nil {
		return err
	}
	if b == nil {
		b = kindFor(key).New()
		attach.To(b, o.kind, o.meta, independent, newID())
		attach.Options(b, referrersOf(independent))
		return r.create(ctx, b, independent)
	}
	if b.GetDeletionTimestamp() != nil {
		return nil // its end wakes us
	}
	if owner := ownerOf(b); owner != "" && owner != o.meta.GetUID() {
		r.tellTaken(independent, b, o)
		return nil // the garbage collector removes what belongs to one that is gone, and wakes us
	}
	referrers, err := r.referrers(ctx, b, independent)
	if err != nil {
		return err
	}
	edit, err := kube.Begin(b)
	if err != nil {
		return err
	}
	attach.To(b, o.kind, o.meta, independent, newID())
	differ := setConflict(b, attach.Options(b, referrers))
	wrote, err := edit.Commit(ctx, r.hubClient, contract.FieldManagerDependencies)
	if err != nil {
		return fmt.Errorf("attaching binding %q: %w", key, err)
	}
	if !wrote {
		return nil
	}
	r.remember(b)
	if differ != "" {
		r.events(optionsDiffer(b, differ))
	}
	r.events(followed(independent, b))
	ctrl.LoggerFrom(ctx).Info("Attached what a workload needs", "attached", key)
	return nil
}

// detach takes what a binding needed off another one, which goes when nothing needs it.
func (r *Reconciler) detach(ctx context.Context, b kube.Binding, independent request) error {
	key := client.ObjectKeyFromObject(b)
	if b.GetDeletionTimestamp() != nil {
		return nil
	}
	edit, err := kube.Begin(b)
	if err != nil {
		return err
	}
	if unneeded := attach.From(b, independent); unneeded {
		uid, version := b.GetUID(), b.GetResourceVersion()
		err := r.hubClient.Delete(ctx, b, client.Preconditions{UID: &uid, ResourceVersion: &version})
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("removing binding %q, which nothing needs: %w", key, err)
		}
		ctrl.LoggerFrom(ctx).Info("Removed what nothing needs any more", "attached", key)
		return nil
	}
	referrers, err := r.referrers(ctx, b, nil)
	if err != nil {
		return err
	}
	differ := setConflict(b, attach.Options(b, referrers))
	wrote, err := edit.Commit(ctx, r.hubClient, contract.FieldManagerDependencies)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("detaching binding %q: %w", key, err)
	}
	if wrote {
		r.remember(b)
		if differ != "" {
			r.events(optionsDiffer(b, differ))
		}
		ctrl.LoggerFrom(ctx).Info("Detached what the workload does not need", "attached", key)
	}
	return nil
}

// errGone means that the template of a binding is not there any more.
var errGone = errors.New("the template is gone")
