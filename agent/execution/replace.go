package execution

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	ctrl "sigs.k8s.io/controller-runtime"

	"fairlead.dev/agent/execution/plan"
	"fairlead.dev/common/contract"
)

// replace deletes an object for which the member refuses a change of an immutable field, so that it is created again,
// if its template asks for that. It does so once per manifest: if the new object is refused as well, deleting it
// again does not help. The new object carries a mark about it, since memory ends with the process. Only an agent that
// is killed between deletion and creation leaves an object without the mark, which may be created again once more.
//
// The deletion waits for the hub, which is asked through confirm once everything else allows it: with the journal, or
// a lagging cache, a newer object could be deleted for an older manifest.
func (r *Reconciler) replace(
	ctx context.Context, work types.NamespacedName, m plan.Manifest, live *plan.Live, refusal string, confirm func() error,
) (plan.Result, string) {
	if !m.Recreate {
		return plan.Refused, fmt.Sprintf(
			"%s; the field is immutable: undo the change, delete the object in the member, or have the agent delete it (annotation %s: %q on the template)",
			refusal, contract.RecreateAnnotation, contract.LabelTrue)
	}
	if live.Object == nil || !plan.Deletable(live.Object, work) {
		return plan.Refused, refusal + "; the object is not replaced, because it does not have the marks of this Work"
	}
	before, replaced := r.memory.IsReplaced(m.Object, m.Digest)
	if replaced && before != live.Object.GetUID() || plan.IsRecreated(live.Object, m.Digest) {
		return plan.Refused, refusal + "; the object was already replaced for this manifest, and is not replaced again"
	}
	if m.Kept {
		return plan.Waiting, refusal + "; the object is replaced once the hub can be reached, which may want something else by now"
	}
	obj, err := r.removable(ctx, work, m)
	if another, ok := errors.AsType[*ofAnotherError](err); ok {
		return plan.Refused, fmt.Sprintf("%s; the object is not replaced: %s", refusal, another)
	}
	if err != nil {
		result, why := r.judge(ctx, work, m.Object, err)
		return result, fmt.Sprintf("%s; the object is not replaced yet: %s", refusal, why)
	}
	if obj == nil || obj.GetUID() != live.Object.GetUID() {
		r.memory.MarkStale(m.Object)
		return plan.Waiting, refusal + "; another object has its place by now, which the agent checks again"
	}
	if err := confirm(); err != nil {
		return plan.Waiting, fmt.Sprintf("%s; the object is not replaced yet: %s", refusal, err)
	}
	// Recorded first, since a deletion whose answer is lost may have happened all the same.
	r.memory.Replacing(m.Object, m.Digest, obj.GetUID())
	if err := r.deleteRead(ctx, work, m, obj); err != nil {
		result, why := r.judge(ctx, work, m.Object, err)
		return result, fmt.Sprintf("%s; deleting the object to replace it failed: %s", refusal, why)
	}
	r.metrics.replaced.Inc()
	ctrl.LoggerFrom(ctx).Info("Deleted an object to create it again, as its template requests", "manifest", m.Object.String())
	return plan.Waiting, "an immutable field was changed: the object was deleted and is created again"
}

// markRecreated marks an object that is to be sent with the manifest for which it was created again, if it was.
func (r *Reconciler) markRecreated(desired *unstructured.Unstructured, m plan.Manifest, live plan.Live) {
	if _, replaced := r.memory.IsReplaced(m.Object, m.Digest); replaced || live.Object != nil && plan.IsRecreated(live.Object, m.Digest) {
		plan.MarkRecreated(desired, m.Digest)
	}
}
