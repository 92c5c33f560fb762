package execution

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
)

// confirmTimeout bounds the hub's answer about a Work: the caller is one of few workers.
const confirmTimeout = 10 * time.Second

// live reads a Work's metadata from the hub, uncached; nil if there is no such Work. The hub refuses an agent without
// rights. Without a hub reader it returns the metadata of the cached Work.
func (r *Reconciler) live(ctx context.Context, work *workv1alpha1.Work) (*metav1.ObjectMeta, error) {
	if r.hubReader == nil {
		return &work.ObjectMeta, nil
	}
	ctx, cancel := context.WithTimeout(ctx, confirmTimeout)
	defer cancel()
	out := &metav1.PartialObjectMetadata{} // without its manifests, which the generation identifies
	out.SetGroupVersionKind(workv1alpha1.GroupVersion.WithKind(workv1alpha1.KindWork))
	if err := r.hubReader.Get(ctx, client.ObjectKeyFromObject(work), out); err != nil {
		return nil, ignoreAbsent(err)
	}
	return &out.ObjectMeta, nil
}

// confirmEnd asks the hub whether it still deletes a Work as the cache shows, since a deletion in the member cannot
// be undone. The cache is outdated when an operator took a deletion back and approved others, which arrives on
// another watch, and when the hub was restored from a backup. The Works of a forgotten cluster are deleted as well;
// by then its agent has no rights, and its objects are not the hub's to delete. It returns false if the hub has no
// such Work: then the watch tells what happens.
func (r *Reconciler) confirmEnd(ctx context.Context, work *workv1alpha1.Work) (bool, error) {
	live, err := r.live(ctx, work)
	if err != nil {
		return false, fmt.Errorf("not deleting the objects of Work %q, because the hub does not confirm that this agent may: %w", work.Name, err)
	}
	if live == nil {
		return false, nil
	}
	if why := unlikeEnd(&work.ObjectMeta, live); why != "" {
		r.brake.Reconsider(work.UID) // the operator approved another deletion
		why = fmt.Sprintf("not deleting the objects of Work %q, because the hub, asked before the deletion, %s", work.Name, why)
		if r.memory.NoteLogged(client.ObjectKeyFromObject(work), why) {
			ctrl.LoggerFrom(ctx).Info("Looking again at a Work, because the cache is behind", "reason", why)
		}
		return false, fmt.Errorf("%s: %w", why, cacheBehind(work))
	}
	return true, nil
}

// confirmWanted asks the hub whether it still wants the Work that the cache shows, before an object is deleted in
// order to be created again.
func (r *Reconciler) confirmWanted(ctx context.Context, work *workv1alpha1.Work) error {
	live, err := r.live(ctx, work)
	switch {
	case err != nil:
		return &hubError{fmt.Sprintf("the hub does not confirm Work %q: %s", work.Name, hubSays(err))}
	case live == nil:
		return fmt.Errorf("the hub has no Work %q any more", work.Name)
	case !live.DeletionTimestamp.IsZero():
		return fmt.Errorf("the hub deletes Work %q", work.Name)
	}
	if why := unlike(&work.ObjectMeta, live); why != "" {
		return fmt.Errorf("the hub, asked for Work %q, %s", work.Name, why)
	}
	return nil
}

// hubError says that the hub did not confirm something. It hides the hub's error from the code that classifies the
// member's errors.
type hubError struct{ message string }

// Error implements error.
func (e *hubError) Error() string { return e.message }

// hubSays describes a failed request to the hub, without addresses.
func hubSays(err error) string {
	if unreachable(err) {
		return "the hub does not answer"
	}
	return err.Error()
}

// cacheBehind returns an error upon which the Work is reconciled again once the cache has caught up.
func cacheBehind(work *workv1alpha1.Work) error {
	return kube.CacheBehind(workv1alpha1.GroupVersion.WithResource("works").GroupResource(), work.Name)
}

// unlike describes how a Work differs from the cached one; empty if it does not.
func unlike(seen, live *metav1.ObjectMeta) string {
	switch {
	case live.UID != seen.UID:
		return "has another Work of that name"
	case live.Generation != seen.Generation:
		return "has another version of the Work"
	default:
		return ""
	}
}

// unlikeEnd describes how the deletion of a Work differs from the cached one; empty if it does not.
func unlikeEnd(seen, live *metav1.ObjectMeta) string {
	switch {
	case live.UID != seen.UID:
		return unlike(seen, live)
	case live.DeletionTimestamp.IsZero(): // the hub was restored from a backup
		return "does not delete the Work"
	case !contract.DeletesObjects(live.Annotations):
		return "no longer wants to delete them"
	case live.Annotations[contract.DeletionIntentAnnotation] != seen.Annotations[contract.DeletionIntentAnnotation]:
		return "deletes the Work for another reason"
	case live.Annotations[contract.DeleteContentsAnnotation] != seen.Annotations[contract.DeleteContentsAnnotation]:
		return "allows other objects to be deleted with them"
	default:
		return unlike(seen, live)
	}
}
