package execution

import (
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
)

// finish deals with a Work that the hub deletes: it deletes its objects, or lets go of
// them, and then drops the finalizer. It does not wait until the objects are gone: what
// holds them is a matter of the member, and is told if it takes long. What becomes of one
// object does not concern the others.
func (r *Reconciler) finish(ctx context.Context, work *workv1alpha1.Work) error {
	name := client.ObjectKeyFromObject(work)
	if !controllerutil.ContainsFinalizer(work, contract.ExecutionFinalizer) {
		return r.forget(ctx, reconcile.Request{NamespacedName: name})
	}
	if confirmed, err := r.confirmEnd(ctx, work); err != nil || !confirmed {
		return err
	}
	// From here on, that an object vanishes is no reason to look at the Work again.
	r.prerequisites.Forget(name)
	r.memory.Forget(name)
	part, done := r.remove, "Deleted the objects of a Work"
	if ptrTrue(work.Spec.PreserveResourcesOnDeletion) {
		part, done = r.release, "Let go of the objects of a Work"
	} else if ok, err := r.mayGo(ctx, work); err != nil || !ok {
		return err // it comes again when nobody wants what is in it, or when an operator said to go on
	}
	manifests, left, err := r.endAll(ctx, work, part)
	if first, ok := errors.AsType[*endsFirstError](err); ok {
		return r.awaitFirst(ctx, work, first)
	}
	if err != nil {
		return err
	}
	if !left { // otherwise the Work counts as absent, and what is left as unclaimed
		r.works.Finish(work.UID)
	}
	switch err := r.dropFinalizer(ctx, work); {
	case err == nil:
		ctrl.LoggerFrom(ctx).Info(done, "objects", manifests)
	case !apierrors.IsNotFound(err): // otherwise the cache was behind: it is done already
		return err
	}
	return r.forget(ctx, reconcile.Request{NamespacedName: name})
}

// part is what is done to one object when its Work ends. It says whether there was anything to
// do: an object that is gone, or not ours, is left alone. Whether there is one is looked up with
// the agent's own rights: a Work of which nothing was ever applied, for lack of rights, can end.
type part func(ctx context.Context, work types.NamespacedName, m plan.Manifest) (did bool, err error)

// endAll does its part to each object of a Work that ends. It returns how many manifests the
// Work has, and whether an object was left in the member that still bears its marks. If nothing is wrong but that something of
// another Work has to go first, it returns an endsFirstError.
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
		case evicted && plan.IsContainer(m.Object) && !ptrTrue(work.Spec.PreserveResourcesOnDeletion):
			one = r.leaveBehind
		}
		_, err := r.endOne(ctx, name, m, one)
		if isLeft(err) {
			left = true
			r.left(ctx, work, m.Object, err)
		} else if errors.Is(err, errNoRoom) {
			full = true
		} else if before, ok := errors.AsType[*endsFirstError](err); ok {
			first = before
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
	if full && len(problems) == 0 { // otherwise the Work fails, and is tried again for that
		return len(all), left, errNoRoom
	}
	if first != nil && len(problems) == 0 {
		return len(all), left, first
	}
	return len(all), left, errors.Join(problems...)
}

// endOne does its part to one object of a Work that ends. If the member does not serve its kind in the version of the Work any more, and
// in another one, it goes by that: the object is the same. Only of a kind that is served in no version there is nothing to end.
func (r *Reconciler) endOne(ctx context.Context, work types.NamespacedName, m plan.Manifest, do part) (did bool, err error) {
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

// dropFinalizer lets a Work go. It fails if the Work is gone already.
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

// outdatedError says why something is not done to a Work.
func outdatedError(work *workv1alpha1.Work, what string) error {
	return fmt.Errorf("not %s Work %q yet: the journal has an older version of it, "+
		"which can be neither replaced nor removed; make the state directory of the agent writable, and this is tried again", what, work.Name)
}

// keep deals with a Work that is being deleted without the hub having said why: with its
// namespace, or by somebody's hand; or with its Cluster. Its objects stay as if the Work were absent, and it is
// let go, so that the hub can make it again; then they are its objects again.
func (r *Reconciler) keep(ctx context.Context, req reconcile.Request, work *workv1alpha1.Work) error {
	if !controllerutil.ContainsFinalizer(work, contract.ExecutionFinalizer) {
		return r.absent(ctx, req, work)
	}
	if !r.journal.Absent(work) { // as long as the hub has it, so that it is tried again if the agent restarts
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

// letGo deals with a Work that a hub, which was restored, deletes and saw no end of, though the agent did, and has had another Work of that name
// since: what the member has now is that one's, which the hub does not know, and stays. The older one ends.
func (r *Reconciler) letGo(ctx context.Context, req reconcile.Request, older *workv1alpha1.Work) error {
	newer := r.works.Outlive(older)
	if newer == nil {
		return nil // the hub has another one by now, which comes by itself
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
		ctrl.LoggerFrom(ctx).Info("Keeping the objects of a Work that the hub does not know any more; what it deletes is an older one of its name",
			"objects", len(newer.Spec.Workload.Manifests))
	case !apierrors.IsNotFound(err):
		return fmt.Errorf("letting go of Work %q, which is older than what the member has: %w", older.Name, err)
	}
	return nil
}

// refused tells that the member does not let an object go; that it does not answer is
// told of the Cluster.
func (r *Reconciler) refused(ctx context.Context, work *workv1alpha1.Work, object plan.Object, err error) {
	result, message := r.judge(ctx, client.ObjectKeyFromObject(work), object, err)
	if result != plan.Refused {
		return
	}
	note := fmt.Sprintf("%s could not be deleted: %s; the Work stays until it can", object, message)
	if r.pendingDeletions.Refused(work, object, note) {
		r.events(kube.Event{
			Regarding: work, Type: corev1.EventTypeWarning, Reason: reasonDeletionFailed, Action: actionDelete, Note: note,
		})
	}
}

// release takes our marks off an object that stays. An object that is gone or not ours
// has none to take off.
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

// disown takes our marks off the object of a manifest that cannot be applied, if it bears
// those of the Work all the same. An object that this agent may not read was not applied by it.
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

// takeMarks takes our marks off an object with a patch; nil does nothing. It says whether the
// object was still there.
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
