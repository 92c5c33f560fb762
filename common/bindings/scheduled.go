package bindings

import (
	"k8s.io/utils/ptr"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
)

// IsScheduled says whether a scheduler is to find clusters for a binding: it belongs to a
// policy, nobody suspended its scheduling, and it is not being deleted. What only follows other
// bindings has no policy, and neither has what lost it.
func IsScheduled(b workv1alpha2.Binding) bool {
	suspension := b.BindingSpec().Suspension
	if suspension != nil && ptr.Deref(suspension.Scheduling, false) || !b.GetDeletionTimestamp().IsZero() {
		return false
	}
	labels := b.GetLabels()
	return labels[contract.PropagationPolicyPermanentIDLabel] != "" ||
		labels[contract.ClusterPropagationPolicyPermanentIDLabel] != "" ||
		labels[contract.BindingManagedByLabel] != ""
}
