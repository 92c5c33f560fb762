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

// ofAnotherError says that an object is not ours to end, though it names the Work.
type ofAnotherError struct{ object plan.Object }

// Error implements error.
func (e *ofAnotherError) Error() string { return plan.OfAnotherMessage(e.object) }

// isLeft says whether an object stays in the member for what it is, or for what is in it, rather than that something failed.
func isLeft(err error) bool {
	_, contents := errors.AsType[*contentsError](err)
	_, another := errors.AsType[*ofAnotherError](err)
	return contents || another
}

// remove deletes an object that bears the marks of the Work.
func (r *Reconciler) remove(ctx context.Context, work types.NamespacedName, m plan.Manifest) (bool, error) {
	obj, _ := r.kinds.Get(m.Object)
	if !plan.Decisive(obj, work) || plan.IsOfAnother(obj, m.Desired) {
		// The informer may be behind, and it would be for ever if we went by it now.
		var err error
		if obj, err = r.removable(ctx, work, m); obj == nil || err != nil {
			return false, err
		}
	}
	err := r.delete(ctx, work, m, obj)
	if !apierrors.IsConflict(err) {
		return err == nil, err
	}
	// There is another one of its name, and the informer is behind.
	if obj, err = r.removable(ctx, work, m); obj == nil || err != nil {
		return false, err
	}
	err = r.delete(ctx, work, m, obj)
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

// delete deletes the very object that was seen, which must be ours to delete.
func (r *Reconciler) delete(ctx context.Context, work types.NamespacedName, m plan.Manifest, obj *unstructured.Unstructured) error {
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
	err := r.memberClient.Delete(ctx, doomed, client.Preconditions{UID: &uid}, client.PropagationPolicy(m.Propagation))
	if unserved(err) {
		r.pendingDeletions.Gone(uid) // it is not deleted so far
	}
	if ignoreAbsent(err) != nil {
		return fmt.Errorf("deleting %s from the member: %w", name, err)
	}
	return nil
}
