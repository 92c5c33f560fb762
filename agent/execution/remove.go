package execution

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/execution/plan"
)

// ofAnotherError says that an object is not ours to delete, though it names the Work.
type ofAnotherError struct{ object plan.Object }

// Error implements error.
func (e *ofAnotherError) Error() string { return plan.OfAnotherMessage(e.object) }

// isLeft returns whether an object stays because of what it is, where it is or what it contains, rather than because
// of a failure.
func isLeft(err error) bool {
	_, contents := errors.AsType[*contentsError](err)
	_, another := errors.AsType[*ofAnotherError](err)
	_, outside := errors.AsType[*outsideError](err)
	return contents || another || outside
}

// remove deletes an object that has the marks of the Work.
func (r *Reconciler) remove(ctx context.Context, work types.NamespacedName, m plan.Manifest) (bool, error) {
	if seen, _ := r.kinds.Get(m.Object); plan.Decisive(seen, work) && !plan.IsOfAnother(seen, m.Desired) {
		// Meanwhile somebody may have removed our marks, which does not change the UID, or there may be another
		// object of its name.
		uid, version := seen.GetUID(), seen.GetResourceVersion()
		if err := r.delete(ctx, work, m, seen, client.Preconditions{UID: &uid, ResourceVersion: &version}); !apierrors.IsConflict(err) {
			return err == nil, err
		}
	}
	// The informer may lag, and this is the last look at the object, so read it from the member.
	obj, err := r.removable(ctx, work, m)
	if obj == nil || err != nil {
		return false, err
	}
	err = r.deleteRead(ctx, work, m, obj)
	return err == nil, err
}

// removable reads an object that may be deleted for a Work; nil if there is none.
func (r *Reconciler) removable(ctx context.Context, work types.NamespacedName, m plan.Manifest) (*unstructured.Unstructured, error) {
	obj, err := readBy(ctx, r.reader, m.Object)
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading %s from the member: %w", m.Object, err)
	case obj == nil || !plan.Deletable(obj, work):
		return nil, nil //nolint:nilnil // that there is none is an answer
	case plan.IsOfAnother(obj, m.Desired):
		return nil, &ofAnotherError{m.Object}
	}
	return obj, nil
}

// deleteRead deletes an object that was just read from the member. The precondition is only the UID, since some
// controllers write the status all the time.
func (r *Reconciler) deleteRead(ctx context.Context, work types.NamespacedName, m plan.Manifest, obj *unstructured.Unstructured) error {
	uid := obj.GetUID()
	return r.delete(ctx, work, m, obj, client.Preconditions{UID: &uid})
}

// delete deletes exactly the object that was seen, which must be ours to delete, if it still meets the preconditions.
func (r *Reconciler) delete(
	ctx context.Context, work types.NamespacedName, m plan.Manifest, obj *unstructured.Unstructured, still client.Preconditions,
) error {
	name, uid := m.Object, obj.GetUID()
	if obj.GetDeletionTimestamp() == nil {
		if err := r.mayTakeContents(ctx, m); err != nil {
			return err
		}
	}
	r.pendingDeletions.Add(name, uid, work, r.clock.Now(), r.stuckAfter)
	if obj.GetDeletionTimestamp() != nil {
		return nil
	}
	doomed := prototype(name.GroupVersionKind)
	doomed.SetNamespace(name.Namespace)
	doomed.SetName(name.Name)
	err := r.memberClient.Delete(ctx, doomed, still, client.PropagationPolicy(m.Propagation))
	if unserved(err) {
		r.pendingDeletions.Gone(uid) // it was not deleted
	}
	if ignoreAbsent(err) != nil {
		return fmt.Errorf("deleting %s from the member: %w", name, err)
	}
	return nil
}
