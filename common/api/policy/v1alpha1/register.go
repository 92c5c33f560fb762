package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of every kind in this package.
var GroupVersion = schema.GroupVersion{Group: "policy.karmada.io", Version: "v1alpha1"}

// Kinds of this package.
const (
	KindPropagationPolicy        = "PropagationPolicy"
	KindClusterPropagationPolicy = "ClusterPropagationPolicy"
	KindOverridePolicy           = "OverridePolicy"
	KindClusterOverridePolicy    = "ClusterOverridePolicy"
	KindFederatedResourceQuota   = "FederatedResourceQuota"
	KindClusterTaintPolicy       = "ClusterTaintPolicy"
)

// AddToScheme registers the kinds of this package.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion,
		&PropagationPolicy{}, &PropagationPolicyList{},
		&ClusterPropagationPolicy{}, &ClusterPropagationPolicyList{},
		&OverridePolicy{}, &OverridePolicyList{},
		&ClusterOverridePolicy{}, &ClusterOverridePolicyList{},
		&FederatedResourceQuota{}, &FederatedResourceQuotaList{},
		&ClusterTaintPolicy{}, &ClusterTaintPolicyList{},
	)
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
