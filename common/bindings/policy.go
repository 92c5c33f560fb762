package bindings

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
)

// PolicyOn returns the policy that a template or binding names in its labels and annotations, and the policy's
// permanent ID; both are empty if no policy is named completely. A ClusterPropagationPolicy has no namespace. A
// PropagationPolicy takes precedence.
func PolicyOn(obj metav1.Object) (policy types.NamespacedName, id string) {
	labels, annotations := obj.GetLabels(), obj.GetAnnotations()
	policy = types.NamespacedName{
		Namespace: annotations[contract.PropagationPolicyNamespaceAnnotation], Name: annotations[contract.PropagationPolicyNameAnnotation],
	}
	if id = labels[contract.PropagationPolicyPermanentIDLabel]; policy.Namespace != "" && policy.Name != "" && id != "" {
		return policy, id
	}
	policy = types.NamespacedName{Name: annotations[contract.ClusterPropagationPolicyNameAnnotation]}
	if id = labels[contract.ClusterPropagationPolicyPermanentIDLabel]; policy.Name != "" && id != "" {
		return policy, id
	}
	return types.NamespacedName{}, ""
}

// PolicyIDLabel returns the label with the permanent ID of a policy, on itself and on what it claims: that of a
// ClusterPropagationPolicy if the namespace is empty.
func PolicyIDLabel(namespace string) string {
	if namespace == "" {
		return contract.ClusterPropagationPolicyPermanentIDLabel
	}
	return contract.PropagationPolicyPermanentIDLabel
}

// IsDetected returns whether the detector handles edits of a binding's template: for bindings that it created, or
// that a policy claims. A binding that only follows workloads is updated with these, and the detector knows nothing
// of a binding that somebody created under another name, or copied.
func IsDetected(b workv1alpha2.Binding) bool {
	ref := &b.BindingSpec().Resource
	if b.GetNamespace() != ref.Namespace || b.GetName() != contract.BindingName(ref.Kind, ref.Name) {
		return false
	}
	return HasPolicy(b) || FingerprintOn(b) != "" && !OnlyFollows(b)
}

// OnlyFollows returns whether workloads need the object of a binding and no policy claims it.
func OnlyFollows(b workv1alpha2.Binding) bool {
	return len(b.BindingSpec().RequiredBy) > 0 && !HasPolicy(b)
}

// HasPolicy returns whether a template or binding has the ID of a policy that claims it.
func HasPolicy(b metav1.Object) bool {
	labels := b.GetLabels()
	return labels[contract.PropagationPolicyPermanentIDLabel] != "" || labels[contract.ClusterPropagationPolicyPermanentIDLabel] != ""
}
