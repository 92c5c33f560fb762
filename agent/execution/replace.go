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

// replace deletes an object whose change the member refuses because a field cannot change,
// so that it is made anew, if its template asks for that. It does so once for each
// manifest: if the new object is refused as well, deleting it again will not help. The new
// object says so itself, since what is remembered ends with the process. Only an agent that is killed between deletion and creation
// leaves one that does not say so, and may be made anew once more.
//
// What deletes waits for the hub, which is asked through confirm once all else allows it: by the journal, or by a cache that is behind, the newer object would be deleted for an older manifest.
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
	// Noted before, since a deletion whose answer is lost may be carried out all the same.
	r.memory.Replacing(m.Object, m.Digest, obj.GetUID())
	if err := r.deleteRead(ctx, work, m, obj); err != nil {
		result, why := r.judge(ctx, work, m.Object, err)
		return result, fmt.Sprintf("%s; deleting it to make it anew failed: %s", refusal, why)
	}
	r.metrics.replaced.Inc()
	ctrl.LoggerFrom(ctx).Info("Deleted an object to make it anew, as its template asks", "manifest", m.Object.String())
	return plan.Waiting, "a field that cannot change was changed: the object was deleted and is made anew"
}

// markRecreated has an object that is sent say for which manifest it was made anew, if it was.
func (r *Reconciler) markRecreated(desired *unstructured.Unstructured, m plan.Manifest, live plan.Live) {
	if _, replaced := r.memory.IsReplaced(m.Object, m.Digest); replaced || live.Object != nil && plan.IsRecreated(live.Object, m.Digest) {
		plan.MarkRecreated(desired, m.Digest)
	}
}
