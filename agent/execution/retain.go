package execution

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"fairlead.dev/agent/execution/plan"
	"fairlead.dev/common/interpreter"
)

// retain returns what to send: the manifest, with what belongs to the member taken over
// from the live object.
func (r *Reconciler) retain(ctx context.Context, m plan.Manifest, live plan.Live) (*unstructured.Unstructured, error) {
	if live.Object == nil || !r.interpreter.Has(m.Object.GroupVersionKind, interpreter.Retain) {
		return m.Desired, nil
	}
	r.memory.Retained(m.Object.GroupVersionKind)
	retained, err := r.interpreter.Retain(ctx, m.Desired, live.Object)
	if err != nil {
		return nil, fmt.Errorf("taking over what belongs to the member: %w", err)
	}
	retained = plan.Stripped(retained)
	if !equality.Semantic.DeepEqual(retained.Object, m.Desired.Object) || !r.memory.IsStale(m.Object) || r.takesNumbers(ctx, m, live) {
		// What was taken over must still be so when it arrives: the informer may be behind
		// an autoscaler, and we would undo what it did. Whether anything is taken over that is the same in the manifest at the moment
		// takes another question, which may go to a webhook: it is asked only where an apply met another version, as where a controller
		// writes the status all the time.
		retained.SetResourceVersion(live.Object.GetResourceVersion())
	}
	return retained, nil
}

// takesNumbers says whether a number is taken over from the live object that is the same in the manifest at the moment, as the replicas
// of an autoscaler may be: it is, if another one would have been. An interpreter that does not say is taken to take one.
func (r *Reconciler) takesNumbers(ctx context.Context, m plan.Manifest, live plan.Live) bool {
	retained, err := r.interpreter.Retain(ctx, m.Desired, plan.OtherNumbers(live.Object))
	return err != nil || !equality.Semantic.DeepEqual(plan.Stripped(retained).Object, m.Desired.Object)
}
