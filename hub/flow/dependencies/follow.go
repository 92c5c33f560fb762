package dependencies

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/sets"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/flow/dependencies/attach"
	"fairlead.dev/hub/flow/dependencies/plan"
)

// apply detaches bindings that are not needed any more, and attaches those that are. What cannot be determined stays as it is. It returns
// the objects that are left out because their bindings would be too large.
func (r *Reconciler) apply(ctx context.Context, in *gathered, p plan.Plan) (leftOut []plan.Object, err error) {
	same := sync.OnceValue(func() error { return r.confirmSame(ctx, in.binding) })
	unneeded := slices.DeleteFunc(slices.Clone(in.attached), func(b kube.Binding) bool { return !slices.Contains(p.Detach, client.ObjectKeyFromObject(b)) })
	unneeded, err = r.detachable(ctx, in, unneeded, same)
	failures := []error{err, r.detachAll(ctx, in, unneeded)}
	for _, o := range p.Attach {
		if err := r.attach(ctx, o, in.binding, same); kube.IsTooLarge(err) || errors.Is(err, errNoRoom) {
			leftOut = append(leftOut, o)
		} else {
			failures = append(failures, err)
		}
	}
	return leftOut, errors.Join(failures...)
}

// detachable returns those bindings, of those that a workload does not name any more, that no cluster may need either. Nothing is read live
// unless the cache shows that there are any, which it does not while a rollout is under way. The function same confirms that the binding is
// as in the cache.
func (r *Reconciler) detachable(ctx context.Context, in *gathered, unneeded []kube.Binding, same func() error) ([]kube.Binding, error) {
	for _, rollouts := range []client.Reader{r.hubClient, r.liveReader} {
		if len(unneeded) == 0 {
			return nil, nil
		}
		inUse, all, err := r.inUse(ctx, rollouts, in.binding, unneeded)
		if all || err != nil {
			return nil, err
		}
		unneeded = slices.DeleteFunc(unneeded, func(other kube.Binding) bool {
			_, needs := inUse[client.ObjectKeyFromObject(other)]
			return needs // some cluster may have a revision that needs it
		})
	}
	if len(unneeded) == 0 {
		return nil, nil
	}
	if err := r.confirmUnneeded(ctx, in, unneeded, same); err != nil {
		return nil, err
	}
	return unneeded, nil
}

// release detaches everything from a binding that does not exist any more, is being deleted, or has no propagateDeps.
func (r *Reconciler) release(ctx context.Context, req request, b kube.Binding) error {
	attached, err := r.attached(ctx, req)
	if err != nil {
		return err
	}
	gone := leaver{request: req}
	if len(attached) > 0 {
		if gone.binding, err = r.confirmReleased(ctx, req); err != nil {
			return err
		}
	}
	if len(attached) > 0 && gone.binding != nil && gone.binding.GetDeletionTimestamp() != nil {
		if gone.binding, err = r.asPolicySays(ctx, gone.binding); err != nil {
			return err
		}
		if err := r.preserveGoing(ctx, attached, gone); err != nil {
			return err
		}
	}
	attached = slices.DeleteFunc(attached, func(other kube.Binding) bool { return other.GetDeletionTimestamp() != nil })
	if gone.binding == nil {
		gone.binding = b
	}
	if gone.binding == nil && len(attached) > 0 {
		left, isNew := r.departed.isLeft(req)
		if isNew {
			logLeft(ctx, req, attached)
		}
		if left {
			attached = nil
		}
	}
	// First, because another workload may name the same object in another version. The change of its binding triggers that workload's
	// reconcile only if no workload needs the object in the present version any more.
	if err := r.wants.Set(req, nil); err != nil {
		return err
	}
	var failures []error
	for _, other := range attached {
		failures = append(failures, r.detach(ctx, other, gone))
	}
	if err := errors.Join(failures...); err != nil {
		return err
	}
	r.read.forget(req)
	r.dropOrigin(req)
	r.warned.Forget(req)
	if b != nil {
		if err := r.unmark(ctx, b); err != nil {
			return client.IgnoreNotFound(err)
		}
	}
	return r.kinds.stopUnneeded(ctx)
}

// errNoRoom means that the binding of a dependency has no room to name the workload's clusters.
var errNoRoom = errors.New("the binding has no room for one more workload")

// attach attaches the binding of an object to that of a workload. The function same confirms that the latter is as in the cache.
func (r *Reconciler) attach(ctx context.Context, o plan.Object, independent kube.Binding, same func() error) error {
	key := o.Binding()
	b, err := r.bindingAt(ctx, key)
	if err != nil {
		return err
	}
	if b == nil {
		b = kindFor(key).New()
		r.attachTo(ctx, b, o, independent)
		attach.Options(b, referrersOf(independent))
		return r.create(ctx, b, independent)
	}
	if b.GetDeletionTimestamp() != nil {
		return nil // the end of its deletion triggers a reconcile
	}
	if owner := ownerOf(b); owner != "" && owner != o.Meta.GetUID() {
		r.tellTaken(independent, b, o)
		return nil // if the owner is gone, the garbage collector deletes the binding, which triggers a reconcile
	}
	referrers, err := r.referrers(ctx, b, independent)
	if err != nil {
		return err
	}
	edit, err := kube.Begin(b)
	if err != nil {
		return err
	}
	before, taken := attach.Places(b, client.ObjectKeyFromObject(independent)), attach.TakenOf(b)
	isNew := !attach.Names(b, client.ObjectKeyFromObject(independent))
	if o, err = r.asBound(ctx, b, o, referrers); err != nil {
		return err
	}
	r.attachTo(ctx, b, o, independent)
	if left := before.Difference(attach.Places(b, client.ObjectKeyFromObject(independent))); left.Len() > 0 {
		if err := same(); err != nil {
			return err
		}
		attach.PreserveWhereLeft(b, left, client.ObjectKeyFromObject(independent), independent)
	}
	differ := setConflict(b, attach.Options(b, referrers))
	attach.Pack(b, referrers)
	if !attach.HasRoom(b, taken, independent.GetNamespace(), isNew) {
		return errNoRoom
	}
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

// attachTo writes on the binding of an object that a workload needs it.
func (r *Reconciler) attachTo(ctx context.Context, b kube.Binding, o plan.Object, independent kube.Binding) {
	said := bindings.OwnedIn(b)
	attach.To(b, o.Kind, o.Meta, independent, newID())
	if !attach.Selected(b) {
		bindings.OwnedAs(b, r.kinds.Served.Preferred(ctx, o.Kind, said))
	}
}

// leaver is a workload that does not need a binding any more.
type leaver struct {
	request
	// binding is the binding of the workload; nil if it is not known.
	binding kube.Binding
	// has are the clusters where the workload keeps running without the object.
	has sets.Set[string]
}

// detach removes a workload from a binding. The binding is deleted if nothing else needs it.
func (r *Reconciler) detach(ctx context.Context, b kube.Binding, from leaver) error {
	if b.GetDeletionTimestamp() != nil {
		return nil
	}
	if attach.OnlyFor(b, from.request) {
		return r.remove(ctx, b, from)
	}
	key := client.ObjectKeyFromObject(b)
	edit, err := kube.Begin(b)
	if err != nil {
		return err
	}
	attach.PreserveWhereLeft(b, attach.Places(b, from.request).Difference(from.has), from.request, from.binding)
	attach.Detach(b, from.request)
	referrers, err := r.referrers(ctx, b, nil)
	if err != nil {
		return err
	}
	differ := setConflict(b, attach.Options(b, referrers))
	attach.Pack(b, referrers)
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

// abandon removes from a binding the common lists of workloads that do not need it any more, and deletes the binding if nothing else needs
// it.
func (r *Reconciler) abandon(ctx context.Context, b kube.Binding) error {
	if !attach.Selected(b) {
		return r.remove(ctx, b, leaver{})
	}
	edit, err := kube.Begin(b)
	if err != nil {
		return err
	}
	attach.Abandon(b)
	_, err = edit.Commit(ctx, r.hubClient, contract.FieldManagerDependencies)
	return err
}

// remove deletes a binding that only one workload needed. The deletion of its Works depends on what the binding says, and the policy of the
// workload may have been changed since that was written.
func (r *Reconciler) remove(ctx context.Context, b kube.Binding, from leaver) error {
	key := client.ObjectKeyFromObject(b)
	edit, err := kube.Begin(b)
	if err != nil {
		return err
	}
	attach.PreserveAsLast(b, from.binding, from.has)
	wrote, err := edit.CommitObject(ctx, r.hubClient, contract.FieldManagerDependencies)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("writing on binding %q, which nothing needs, whether its object stays in the members: %w", key, err)
	case wrote:
		r.remember(b)
	}
	uid, version := b.GetUID(), b.GetResourceVersion()
	err = r.hubClient.Delete(ctx, b, client.Preconditions{UID: &uid, ResourceVersion: &version})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("removing binding %q, which nothing needs: %w", key, err)
	}
	ctrl.LoggerFrom(ctx).Info("Removed what nothing needs any more", "attached", key)
	return nil
}
