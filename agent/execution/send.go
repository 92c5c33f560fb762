package execution

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/execution/plan"
	"fairlead.dev/common/contract"
)

// sendNew applies an object that does not exist according to a read. If somebody else creates it meanwhile, that is
// not taken over but met as a conflict and judged like any existing object. Only a server that rejects the
// resourceVersion leaves no other way than to apply without one.
func (r *Reconciler) sendNew(ctx context.Context, desired *unstructured.Unstructured) error {
	err := r.sendToNone(ctx, desired)
	if err != nil && mindsVersion(err) {
		err = r.send(ctx, desired)
	}
	return err
}

// versionOfNone is a resourceVersion that no object has. An apply with it creates the object, or conflicts with an
// existing one.
const versionOfNone = "9223372036854775807"

// sendToNone applies an object that must not exist. It fails if it exists, or if a server that is not Kubernetes' own
// rejects the version (mindsVersion).
func (r *Reconciler) sendToNone(ctx context.Context, desired *unstructured.Unstructured) error {
	desired.SetResourceVersion(versionOfNone)
	err := r.send(ctx, desired)
	if err != nil {
		desired.SetResourceVersion("")
	}
	return err
}

// create applies an object unknown to informer and records, as nearly all new ones are, without reading it before.
// ask is true if that failed because the object exists, without our label or newer than the informer, or because the
// server rejects the version. Then the member has to be asked, now and until the object is applied.
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

// send applies an object, which is replaced by the member's answer.
func (r *Reconciler) send(ctx context.Context, desired *unstructured.Unstructured) error {
	return r.memberClient.Apply(ctx, client.ApplyConfigurationFromUnstructured(desired),
		client.FieldOwner(contract.FieldManagerAgent), client.ForceOwnership)
}
