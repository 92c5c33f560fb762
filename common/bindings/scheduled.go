package bindings

import (
	"k8s.io/utils/ptr"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
)

// IsScheduled returns whether a scheduler should place a binding: a policy has claimed it, its scheduling is not
// suspended, and it is not being deleted. Bindings that only follow others have no policy.
func IsScheduled(b workv1alpha2.Binding) bool {
	suspension := b.BindingSpec().Suspension
	if suspension != nil && ptr.Deref(suspension.Scheduling, false) || !b.GetDeletionTimestamp().IsZero() {
		return false
	}
	return HasPolicy(b) || b.GetLabels()[contract.BindingManagedByLabel] != ""
}
