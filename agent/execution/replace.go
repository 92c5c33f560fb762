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
			"%s; a field of it cannot change once it is set: undo the change, delete the object in the member, or have the agent do so (annotation %s: %q on the template)",
			refusal, contract.RecreateAnnotation, contract.LabelTrue)
	}
	if live.Object == nil || !plan.Deletable(live.Object, work) {
		return plan.Refused, refusal + "; it is not made anew, as it does not bear the marks of this Work"
	}
	before, replaced := r.memory.IsReplaced(m.Object, m.Digest)
	if replaced && before != live.Object.GetUID() || plan.IsRecreated(live.Object, m.Digest) {
		return plan.Refused, refusal + "; it was made anew for this manifest before, and is not again"
	}
	if m.Kept {
		return plan.Waiting, refusal + "; it is made anew once the hub was heard, which may want something else by now"
	}
	obj, err := r.removable(ctx, work, m)
	if another, ok := errors.AsType[*ofAnotherError](err); ok {
		return plan.Refused, fmt.Sprintf("%s; it is not made anew: %s", refusal, another)
	}
	if err != nil {
		result, why := r.judge(ctx, work, m.Object, err)
		return result, fmt.Sprintf("%s; it is not made anew yet: %s", refusal, why)
	}
	if obj == nil || obj.GetUID() != live.Object.GetUID() {
		r.memory.MarkStale(m.Object)
		return plan.Waiting, refusal + "; it is another object by now, which is looked at anew"
	}
	if err := confirm(); err != nil {
		return plan.Waiting, fmt.Sprintf("%s; it is not made anew yet: %s", refusal, err)
	}
	// Recorded first, since a deletion whose answer is lost may have happened all the same.
	r.memory.Replacing(m.Object, m.Digest, obj.GetUID())
	if err := r.deleteRead(ctx, work, m, obj); err != nil {
		result, why := r.judge(ctx, work, m.Object, err)
		return result, fmt.Sprintf("%s; deleting it to make it anew failed: %s", refusal, why)
	}
	r.metrics.replaced.Inc()
	ctrl.LoggerFrom(ctx).Info("Deleted an object to make it anew, as its template asks", "manifest", m.Object.String())
	return plan.Waiting, "a field that cannot change was changed: the object was deleted and is made anew"
}

// markRecreated marks an object that is to be sent with the manifest for which it was created again, if it was.
func (r *Reconciler) markRecreated(desired *unstructured.Unstructured, m plan.Manifest, live plan.Live) {
	if _, replaced := r.memory.IsReplaced(m.Object, m.Digest); replaced || live.Object != nil && plan.IsRecreated(live.Object, m.Digest) {
		plan.MarkRecreated(desired, m.Digest)
	}
}
