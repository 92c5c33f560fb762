package quota

import (
	"k8s.io/utils/ptr"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
)

// Preserves says whether what a PropagationPolicy leaves in the members stays there, where no FederatedResourceQuota of its
// namespace counts it any more; also while the policy is being deleted, since its last word counts. It is what the admission
// policy propagation-policies-preserved asks of a policy that is created, and has to say the same: a test holds both together.
// Who wrote the policy, and may do so, only admission knows.
func Preserves(p *policyv1alpha1.PropagationPolicy) bool {
	return ptr.Deref(p.Spec.PreserveResourcesOnDeletion, false)
}
