package execution

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"fairlead.dev/agent/execution/plan"
	"fairlead.dev/common/interpreter"
)

// retain returns the object to send: the manifest, with the fields that belong to the member taken from the live
// object.
func (r *Reconciler) retain(ctx context.Context, m plan.Manifest, live plan.Live) (*unstructured.Unstructured, error) {
	if live.Object == nil || !r.interpreter.Has(m.Object.GroupVersionKind, interpreter.Retain) {
		return m.Desired, nil
	}
	r.memory.Retained(m.Object.GroupVersionKind)
	retained, err := r.takeFrom(ctx, m, live.Object)
	if err != nil {
		return nil, fmt.Errorf("taking over what belongs to the member: %w", err)
	}
	if err := plan.Reserved(retained); err != nil {
		return nil, fmt.Errorf("with the fields that the rules of the kind keep from the member, or add, %w", err)
	}
	if !equality.Semantic.DeepEqual(retained.Object, m.Desired.Object) || !r.memory.IsStale(m.Object) || r.takesNumbers(ctx, m, live) {
		// What was taken over must still hold when the apply arrives: the informer may lag behind an autoscaler, and
		// we would undo its change. So the apply carries the resourceVersion. Whether a field is taken over whose
		// value equals the manifest's at present needs another question, possibly to a webhook; it is asked only
		// after a conflict, since some controllers write the status all the time.
		retained.SetResourceVersion(live.Object.GetResourceVersion())
	}
	return retained, nil
}

// takesNumbers returns whether a number is taken over from the live object that equals the manifest's at present,
// such as the replicas of an autoscaler: it tests whether another number would be taken over. An interpreter that
// fails is assumed to take one.
func (r *Reconciler) takesNumbers(ctx context.Context, m plan.Manifest, live plan.Live) bool {
	retained, err := r.takeFrom(ctx, m, plan.OtherNumbers(live.Object))
	return err != nil || !equality.Semantic.DeepEqual(retained.Object, m.Desired.Object)
}

// takeFrom applies the kind's Retain rule to a manifest. The rule does not decide whose object it is, so the marks
// are restored.
func (r *Reconciler) takeFrom(ctx context.Context, m plan.Manifest, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	retained, err := r.interpreter.Retain(ctx, m.Desired, live)
	if err != nil {
		return nil, err
	}
	retained = plan.Stripped(retained)
	plan.WithMarksOf(retained, m.Desired)
	return retained, nil
}
