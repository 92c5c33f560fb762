package dependencies

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/flow/dependencies/attach"
	"fairlead.dev/hub/flow/dependencies/plan"
)

// A dependency stays in the members where its workload does, as the workload's policy says last. One commit may change that policy and
// delete the workload, the dependency or both. Then neither binding may have the change when it is deleted, and the garbage collector
// deletes them in any order. So before anything is detached, the policy is read live, and its option is written on whatever is being
// deleted.

// asPolicySays returns a binding, or a copy with preserveResourcesOnDeletion if its policy has it now. The policy is read once for each
// workload that something is detached from.
func (r *Reconciler) asPolicySays(ctx context.Context, b kube.Binding) (kube.Binding, error) {
	if attach.Preserves(b) {
		return b, nil
	}
	preserves, err := kube.PolicyPreserves(ctx, r.liveReader, b)
	if !preserves || err != nil {
		return b, err
	}
	out, ok := b.DeepCopyObject().(kube.Binding)
	if !ok {
		return b, nil
	}
	out.BindingSpec().PreserveResourcesOnDeletion = new(true)
	return out, nil
}

// detachAll detaches what an existing workload does not need any more. An object that was deleted on the hub is not one that the workload
// runs without: where the workload is preserved, the object stays as if both had been deleted.
func (r *Reconciler) detachAll(ctx context.Context, in *gathered, unneeded []kube.Binding) error {
	if len(unneeded) == 0 {
		return nil
	}
	independent, err := r.asPolicySays(ctx, in.binding)
	if err != nil {
		return err
	}
	var failures []error
	for _, other := range unneeded {
		from := leaver{request: in.request, binding: independent, has: attach.ClustersOf(in.binding.BindingSpec())}
		if attach.Preserves(independent) && !attach.Selected(other) {
			gone, err := r.isGone(ctx, other)
			if err != nil {
				failures = append(failures, err)
				continue
			}
			if gone {
				from.has = nil
			}
		}
		failures = append(failures, r.detach(ctx, other, from))
	}
	return errors.Join(failures...)
}

// preserveGoing writes the option of a workload that is being deleted on those of its dependencies that are being deleted already. Nothing
// is detached from these, and the binding stage may delete their Works after the workload's binding is gone.
func (r *Reconciler) preserveGoing(ctx context.Context, attached []kube.Binding, from leaver) error {
	var failures []error
	for _, other := range attached {
		if other.GetDeletionTimestamp() == nil {
			continue
		}
		edit, err := kube.Begin(other)
		if err != nil {
			return err
		}
		attach.PreserveGoing(other, from.binding)
		wrote, err := edit.CommitObject(ctx, r.hubClient, contract.FieldManagerDependencies)
		if client.IgnoreNotFound(err) != nil {
			failures = append(failures, fmt.Errorf("writing on binding %q, which is being deleted, where its object stays: %w", other.GetName(), err))
		} else if wrote {
			r.remember(other)
		}
	}
	return errors.Join(failures...)
}

// isGone reads live whether the object of a binding is deleted, or being deleted, on the hub.
func (r *Reconciler) isGone(ctx context.Context, b kube.Binding) (bool, error) {
	ref := b.BindingSpec().Resource
	obj := kube.MetadataOf(plan.KindOf(b))
	err := r.liveReader.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, obj)
	switch {
	case apierrors.IsNotFound(err):
		return true, nil
	case kube.IsUnserved(err):
		return false, nil // nothing says that it is gone
	case err != nil:
		return false, fmt.Errorf("reading %s %q, which nothing refers to any more: %w", ref.Kind, ref.Name, err)
	}
	return obj.DeletionTimestamp != nil || ref.UID != "" && obj.UID != ref.UID, nil
}
