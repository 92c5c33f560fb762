package execution

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"fairlead.dev/agent/execution/plan"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/eventsink"
)

// finish handles a Work that the hub deletes: it deletes or releases the objects, and then removes the finalizer. It
// does not wait until the objects are gone: what holds them is the member's matter, and is reported if it takes long.
// One object does not affect the others.
func (r *Reconciler) finish(ctx context.Context, work *workv1alpha1.Work) error {
	name := client.ObjectKeyFromObject(work)
	if !controllerutil.ContainsFinalizer(work, contract.ExecutionFinalizer) {
		return r.forget(ctx, reconcile.Request{NamespacedName: name})
	}
	if confirmed, err := r.confirmEnd(ctx, work); err != nil || !confirmed {
		return err
	}
	// From here on, disappearing objects must not trigger a reconcile.
	r.prerequisites.Forget(name)
	r.memory.Forget(name)
	part, done := r.remove, "Deleted the objects of a Work"
	if ptrTrue(work.Spec.PreserveResourcesOnDeletion) {
		part, done = r.release, "Released the objects of a Work"
	} else if ok, err := r.mayGo(ctx, work); err != nil || !ok {
		return err // it is reconciled again when nobody wants its contents any more, or an operator approved
	}
	manifests, left, err := r.endAll(ctx, work, part)
	if first, ok := errors.AsType[*endsFirstError](err); ok {
		return r.awaitFirst(ctx, work, first)
	}
	if err != nil {
		return err
	}
	if !left { // otherwise the Work counts as absent, and the objects left as unclaimed
		r.works.Finish(work.UID)
	}
	switch err := r.dropFinalizer(ctx, work); {
	case err == nil:
		ctrl.LoggerFrom(ctx).Info(done, "objects", manifests)
	case !apierrors.IsNotFound(err): // otherwise the cache is outdated: it is gone already
		return err
	}
	return r.forget(ctx, reconcile.Request{NamespacedName: name})
}

// part is the action on one object when its Work ends. It returns whether there was anything to do: an object that is
// gone, or not ours, is left alone. The object is looked up with the agent's own rights, so that a Work of which
// nothing was ever applied, for lack of rights, can end.
type part func(ctx context.Context, work types.NamespacedName, m plan.Manifest) (did bool, err error)

// endAll performs the action on each object of an ending Work. It returns the number of manifests, and whether an
// object was left in the member that still has the Work's marks. If the only obstacle is that an object of another
// Work has to be deleted first, it returns an endsFirstError. RBAC is deleted only when nothing else of the Work is
// left.
func (r *Reconciler) endAll(ctx context.Context, work *workv1alpha1.Work, do part) (manifests int, left bool, err error) {
	name := client.ObjectKeyFromObject(work)
	evicted := work.Annotations[contract.DeletionIntentAnnotation] == contract.DeletionEvicted
	all := plan.Ending(work)
	var problems []error
	var first *endsFirstError
	full := false
	for _, m := range all {
		one := do
		switch {
		case m.Problem != nil:
			one = r.disown
		case ptrTrue(work.Spec.PreserveResourcesOnDeletion):
		case evicted && plan.IsContainer(m.Object):
			one = r.leaveBehind
		case r.mayBeNeeded(m.Object):
			if first != nil || full || len(problems) > 0 {
				continue // the others have to be deleted first
			}
			one = r.removeRights
		}
		_, err := r.endOne(ctx, name, m, one)
		if isLeft(err) {
			left = true
			r.left(ctx, work, m.Object, err)
		} else if errors.Is(err, errNoRoom) {
			full = true
		} else if before, ok := errors.AsType[*endsFirstError](err); ok {
			first = cmp.Or(first, before)
		} else if err != nil {
			problems = append(problems, err)
			r.refused(ctx, work, m.Object, err)
		} else {
			r.pendingDeletions.Allowed(m.Object)
		}
		if ctx.Err() != nil {
			return len(all), left, ctx.Err()
		}
	}
	if full && len(problems) == 0 { // otherwise the Work fails, and is retried for that reason
		return len(all), left, errNoRoom
	}
	if first != nil && len(problems) == 0 {
		return len(all), left, first
	}
	return len(all), left, errors.Join(problems...)
}

// endOne performs the action on one object of an ending Work. If the member serves its kind only in another version
// by now, that version is used: the object is the same. If it serves the kind in no version, there is nothing to do.
// An object outside the agent's namespaces stays, with the marks that an earlier agent gave it, so that an agent with
// access finds it again.
func (r *Reconciler) endOne(ctx context.Context, work types.NamespacedName, m plan.Manifest, do part) (did bool, err error) {
	if err := r.outside(m.Object); err != nil {
		if m.Problem != nil { // no agent can have applied it
			err = nil
		}
		return false, err
	}
	if _, err = r.memberClient.RESTMapper().RESTMapping(m.Object.GroupKind(), m.Object.Version); err != nil {
		err = fmt.Errorf("looking up the kind of %s in the member: %w", m.Object, err)
	} else {
		did, err = do(ctx, work, m)
	}
	if !unserved(err) {
		return did, err
	}
	object, known, err := r.served(ctx, m.Object)
	if err != nil || !known {
		return false, err
	}
	m.Object = object
	return do(ctx, work, m)
}

// dropFinalizer removes our finalizer from a Work. It fails if the Work is gone.
func (r *Reconciler) dropFinalizer(ctx context.Context, work *workv1alpha1.Work) error {
	work = work.DeepCopy()
	edit, err := kube.Begin(work)
	if err != nil {
		return err
	}
	controllerutil.RemoveFinalizer(work, contract.ExecutionFinalizer)
	_, err = edit.Commit(ctx, r.hubClient, contract.FieldManagerAgent)
	return err
}

// outdatedError says that something is postponed because the journal is outdated.
func outdatedError(work *workv1alpha1.Work, what string) error {
	return fmt.Errorf("not %s Work %q yet: the journal has an older version of the Work, "+
		"which can be neither replaced nor removed; make the state directory of the agent writable, and the agent tries again", what, work.Name)
}

// keep handles a Work that is being deleted without the hub's intent: with its namespace, by hand, or with its
// Cluster. Its objects stay as if the Work were absent, and its finalizer is removed, so that the hub can create it
// again; then they are its objects again.
func (r *Reconciler) keep(ctx context.Context, req reconcile.Request, work *workv1alpha1.Work) error {
	if !controllerutil.ContainsFinalizer(work, contract.ExecutionFinalizer) {
		return r.absent(ctx, req, work)
	}
	if !r.journal.Absent(work) { // recorded while the hub still has it, so that a restarted agent tries again
		return outdatedError(work, "letting go of")
	}
	switch err := r.dropFinalizer(ctx, work); {
	case err == nil:
		ctrl.LoggerFrom(ctx).Info("Keeping the objects of a Work that is deleted without the intent to delete them", "objects", len(work.Spec.Workload.Manifests))
		if !contract.DeletionIntended(work.Annotations) {
			r.metrics.unintended.Inc()
		}
	case !apierrors.IsNotFound(err):
		return fmt.Errorf("letting go of Work %q, whose deletion the hub did not intend: %w", work.Name, err)
	}
	return nil
}

// letGo handles a Work that a restored hub deletes although the agent saw its end before, and has since had a newer
// Work of that name: the member's objects belong to the newer one, which the hub does not know, and stay. The older
// one ends.
func (r *Reconciler) letGo(ctx context.Context, req reconcile.Request, older *workv1alpha1.Work) error {
	newer := r.works.Outlive(older)
	if newer == nil {
		return nil // the hub has another one by now, which is enqueued by itself
	}
	if !r.journal.Absent(newer) {
		return outdatedError(newer, "leaving the objects of")
	}
	if err := r.absent(ctx, req, newer); err != nil {
		return err
	}
	if !controllerutil.ContainsFinalizer(older, contract.ExecutionFinalizer) {
		return nil
	}
	switch err := r.dropFinalizer(ctx, older); {
	case err == nil:
		ctrl.LoggerFrom(ctx).Info("Keeping the objects of a Work that the hub no longer knows; it deletes an older Work of that name",
			"objects", len(newer.Spec.Workload.Manifests))
	case !apierrors.IsNotFound(err):
		return fmt.Errorf("letting go of Work %q, which is older than what the member has: %w", older.Name, err)
	}
	return nil
}

// refused reports that the member does not delete an object. A member that does not answer is reported in its Cluster
// instead.
func (r *Reconciler) refused(ctx context.Context, work *workv1alpha1.Work, object plan.Object, err error) {
	result, message := r.judge(ctx, client.ObjectKeyFromObject(work), object, err)
	if result != plan.Refused {
		return
	}
	note := fmt.Sprintf("%s could not be deleted: %s; the Work stays until it can", object, message)
	if r.pendingDeletions.Refused(work, object, note) {
		r.events(eventsink.Event{
			Regarding: work, Type: corev1.EventTypeWarning, Reason: reasonDeletionFailed, Action: actionDelete, Note: note,
		})
	}
}

// release removes our marks from an object that stays. If the object is gone or not ours, there is nothing to do.
func (r *Reconciler) release(ctx context.Context, work types.NamespacedName, m plan.Manifest) (bool, error) {
	obj, err := readBy(ctx, r.reader, m.Object)
	if err != nil {
		return false, fmt.Errorf("reading %s from the member: %w", m.Object, err)
	}
	if obj == nil || !plan.Releasable(obj, work) {
		return false, nil
	}
	if plan.IsOfAnother(obj, m.Desired) {
		return false, &ofAnotherError{m.Object}
	}
	return r.takeMarks(ctx, obj, plan.Release(obj))
}

// disown removes our marks from the object of a manifest that cannot be applied, in case it has those of the Work. An
// object that this agent may not read was not applied by it.
func (r *Reconciler) disown(ctx context.Context, work types.NamespacedName, m plan.Manifest) (bool, error) {
	obj, err := readBy(ctx, r.reader, m.Object)
	if err != nil {
		if result, _ := classify(m.Object, err); result == plan.Refused {
			return false, nil
		}
		return false, fmt.Errorf("reading %s from the member: %w", m.Object, err)
	}
	if obj == nil || !plan.Deletable(obj, work) {
		return false, nil
	}
	return r.takeMarks(ctx, obj, plan.Release(obj))
}

// takeMarks removes our marks from an object with a patch; a nil patch does nothing. It returns whether the object
// still existed.
func (r *Reconciler) takeMarks(ctx context.Context, obj *unstructured.Unstructured, patch map[string]any) (bool, error) {
	if patch == nil {
		return false, nil
	}
	data, err := json.Marshal(patch)
	if err != nil {
		return false, fmt.Errorf("encoding the patch of %s: %w", plan.ObjectOf(obj), err)
	}
	err = r.memberClient.Patch(ctx, obj, client.RawPatch(types.MergePatchType, data), client.FieldOwner(contract.FieldManagerAgent))
	if ignoreAbsent(err) != nil {
		return false, fmt.Errorf("taking our marks off %s in the member: %w", plan.ObjectOf(obj), err)
	}
	return err == nil, nil
}
