package execution

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
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
	// The Works of a cluster that was forgotten are deleted, too; its agent has no rights any
	// more by then, and its objects are not the hub's to delete.
	if err := r.confirm(ctx); err != nil {
		return fmt.Errorf("not deleting the objects of a Work, since the hub does not confirm that this agent may: %w", err)
	}
	// From here on, that an object vanishes is no reason to look at the Work again.
	r.prerequisites.Forget(name)
	r.memory.Forget(name)
	part, done := r.remove, "Deleted the objects of a Work"
	if ptrTrue(work.Spec.PreserveResourcesOnDeletion) {
		part, done = r.release, "Let go of the objects of a Work"
	} else if ok, err := r.pass(ctx, work); err != nil || !ok {
		return err // it comes again when an operator said to go on
	}
	manifests, left, err := r.endAll(ctx, work, part)
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
// Work has, and whether an object was left in the member that still bears its marks.
func (r *Reconciler) endAll(ctx context.Context, work *workv1alpha1.Work, do part) (manifests int, left bool, err error) {
	name := client.ObjectKeyFromObject(work)
	evicted := work.Annotations[contract.DeletionIntentAnnotation] == contract.DeletionEvicted
	all := plan.Ending(work)
	var problems []error
	for _, m := range all {
		_, err := r.memberClient.RESTMapper().RESTMapping(m.Object.GroupKind(), m.Object.Version)
		if meta.IsNoMatchError(err) {
			continue // the kind is gone from the member, and its objects with it
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("looking up the kind of %s in the member: %w", m.Object, err))
			continue
		}
		one := do
		switch {
		case m.Problem != nil:
			one = r.disown
		case evicted && plan.IsContainer(m.Object) && !ptrTrue(work.Spec.PreserveResourcesOnDeletion):
			one = r.leaveBehind
		}
		_, err = one(ctx, name, m)
		if because, ok := errors.AsType[*contentsError](err); ok {
			left = true
			r.left(ctx, work, m.Object, because)
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
	return len(all), left, errors.Join(problems...)
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

// keep deals with a Work that is being deleted without the hub having said why: with its
// namespace, or by somebody's hand; or with its Cluster. Its objects stay as if the Work were absent, and it is
// let go, so that the hub can make it again; then they are its objects again.
func (r *Reconciler) keep(ctx context.Context, req reconcile.Request, work *workv1alpha1.Work) error {
	if !controllerutil.ContainsFinalizer(work, contract.ExecutionFinalizer) {
		return r.absent(ctx, req, work)
	}
	r.journal.Absent(work)
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

// refused tells that the member does not let an object go; that it does not answer is
// told of the Cluster.
func (r *Reconciler) refused(ctx context.Context, work *workv1alpha1.Work, object plan.Object, err error) {
	result, message := r.judge(ctx, client.ObjectKeyFromObject(work), object, err)
	if result != plan.Refused {
		return
	}
	note := fmt.Sprintf("%s could not be deleted: %s; the Work stays until it can", object, message)
	if r.pendingDeletions.Refused(object, note) {
		r.events(kube.Event{
			Regarding: work, Type: corev1.EventTypeWarning, Reason: reasonDeletionFailed, Action: actionDelete, Note: note,
		})
	}
}

// remove deletes an object that bears the marks of the Work.
func (r *Reconciler) remove(ctx context.Context, work types.NamespacedName, m plan.Manifest) (bool, error) {
	name := m.Object
	obj, _ := r.kinds.Get(name)
	if !plan.Decisive(obj, work) {
		// The informer may be behind, and it would be for ever if we went by it now.
		found, err := readBy(ctx, r.reader, name)
		if err != nil {
			return false, fmt.Errorf("reading %s from the member: %w", name, err)
		}
		if found == nil || !plan.Deletable(found, work) {
			return false, nil
		}
		obj = found
	}
	err := r.delete(ctx, work, m, obj)
	if !apierrors.IsConflict(err) {
		return err == nil, err
	}
	// There is another one of its name, and the informer is behind.
	if obj, err = readBy(ctx, r.reader, name); err != nil {
		return false, fmt.Errorf("reading %s from the member: %w", name, err)
	}
	if obj == nil || !plan.Deletable(obj, work) {
		return false, nil
	}
	err = r.delete(ctx, work, m, obj)
	return err == nil, err
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
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting %s from the member: %w", name, err)
	}
	return nil
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
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("taking our marks off %s in the member: %w", plan.ObjectOf(obj), err)
	}
	return err == nil, nil
}
