package claim

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
)

// Claim says which policy has a template. The zero value means no policy.
type Claim struct {
	// Namespace of the policy; empty for a ClusterPropagationPolicy.
	Namespace string
	// Name of the policy.
	Name string
	// ID is the permanent id of the policy.
	ID string
}

// By returns the claim that a policy makes. Its ID is empty as long as the policy has none.
func By(p policyv1alpha1.Policy) Claim {
	return Claim{Namespace: p.GetNamespace(), Name: p.GetName(), ID: p.GetLabels()[IDLabel(p)]}
}

// IDLabel returns the label that holds the permanent id of a policy.
func IDLabel(p policyv1alpha1.Policy) string { return bindings.PolicyIDLabel(p.GetNamespace()) }

// On returns the claim on a template or a binding, and whether there is a complete one. The claim of a PropagationPolicy takes precedence.
func On(obj metav1.Object) (Claim, bool) {
	policy, id := bindings.PolicyOn(obj)
	return Claim{Namespace: policy.Namespace, Name: policy.Name, ID: id}, id != ""
}

// Key identifies the policy of the claim, regardless of the ID.
func (c Claim) Key() string { return c.Namespace + "/" + c.Name }

// Set puts a claim on a template or a binding, replacing any other.
func Set(obj metav1.Object, c Claim) {
	labels, annotations := without(obj)
	if c.Namespace == "" {
		labels[contract.ClusterPropagationPolicyPermanentIDLabel] = c.ID
		annotations[contract.ClusterPropagationPolicyNameAnnotation] = c.Name
	} else {
		labels[contract.PropagationPolicyPermanentIDLabel] = c.ID
		annotations[contract.PropagationPolicyNamespaceAnnotation] = c.Namespace
		annotations[contract.PropagationPolicyNameAnnotation] = c.Name
	}
	obj.SetLabels(labels)
	obj.SetAnnotations(annotations)
}

// Clear removes every claim from a template or a binding, even incomplete ones. It returns whether there was any.
func Clear(obj metav1.Object) bool {
	before := len(obj.GetLabels()) + len(obj.GetAnnotations())
	labels, annotations := without(obj)
	delete(annotations, contract.TemplateEditAnnotation) // it belongs to the claim of a lazy policy
	if len(labels)+len(annotations) == before {
		return false
	}
	obj.SetLabels(labels)
	obj.SetAnnotations(annotations)
	return true
}

// without returns copies of the labels and annotations without any claim.
func without(obj metav1.Object) (labels, annotations map[string]string) {
	labels, annotations = maps.Clone(obj.GetLabels()), maps.Clone(obj.GetAnnotations())
	if labels == nil {
		labels = map[string]string{}
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	delete(labels, contract.PropagationPolicyPermanentIDLabel)
	delete(labels, contract.ClusterPropagationPolicyPermanentIDLabel)
	delete(annotations, contract.PropagationPolicyNamespaceAnnotation)
	delete(annotations, contract.PropagationPolicyNameAnnotation)
	delete(annotations, contract.ClusterPropagationPolicyNameAnnotation)
	return labels, annotations
}
