package execution

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/execution/plan"
	"fairlead.dev/common/contract"
)

// sendNew applies an object that the member, which was asked, does not have. What somebody else makes of its name meanwhile is not taken over by
// that but met as a conflict, and judged like all that is there. Only a server that minds the version leaves no other way than to apply
// without one.
func (r *Reconciler) sendNew(ctx context.Context, desired *unstructured.Unstructured) error {
	err := r.sendToNone(ctx, desired)
	if err != nil && mindsVersion(err) {
		err = r.send(ctx, desired)
	}
	return err
}

// versionOfNone is a resourceVersion that no object has. An apply that names it makes an object, and meets a conflict where
// there is one.
const versionOfNone = "9223372036854775807"

// sendToNone applies an object where there is none. It fails where there is one, and where a server that is not Kubernetes' own minds the
// version (mindsVersion).
func (r *Reconciler) sendToNone(ctx context.Context, desired *unstructured.Unstructured) error {
	desired.SetResourceVersion(versionOfNone)
	err := r.send(ctx, desired)
	if err != nil {
		desired.SetResourceVersion("")
	}
	return err
}

// create makes an object of which neither the informer nor we know anything, as is so of nearly all that come. It needs no
// question before it, and says whether that came to nothing: there is one without our label, or newer than what the informer
// shows, or the server minds the version. Then the member is to be asked, now and until it is applied.
func (r *Reconciler) create(ctx context.Context, work types.NamespacedName, m plan.Manifest) (s step, ask bool) {
	r.markRecreated(m.Desired, m, plan.Live{Presence: plan.Absent})
	err := r.sendToNone(ctx, m.Desired)
	if err != nil && (overtaken(err) || mindsVersion(err)) {
		r.memory.MarkStale(m.Object)
		return step{}, true
	}
	_, s = r.sent(ctx, work, m, plan.Live{Presence: plan.Absent}, m.Desired, err)
	return s, false
}

// send applies an object, which becomes as the member answers.
func (r *Reconciler) send(ctx context.Context, desired *unstructured.Unstructured) error {
	return r.memberClient.Apply(ctx, client.ApplyConfigurationFromUnstructured(desired),
		client.FieldOwner(contract.FieldManagerAgent), client.ForceOwnership)
}
