package kube

import (
	"fmt"

	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	appsv1alpha1 "fairlead.dev/common/api/apps/v1alpha1"
	autoscalingv1alpha1 "fairlead.dev/common/api/autoscaling/v1alpha1"
	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	remedyv1alpha1 "fairlead.dev/common/api/remedy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

// NewScheme returns a scheme with the kinds that hub and agent handle as Go types: the propagation API and a few
// groups of Kubernetes. All other kinds are handled as unstructured objects or as metadata.
func NewScheme() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		configv1alpha1.AddToScheme,
		policyv1alpha1.AddToScheme,
		workv1alpha1.AddToScheme,
		workv1alpha2.AddToScheme,
		clusterv1alpha1.AddToScheme,
		appsv1alpha1.AddToScheme,
		remedyv1alpha1.AddToScheme,
		autoscalingv1alpha1.AddToScheme,
		fairleadv1alpha1.AddToScheme,
		corev1.AddToScheme,
		rbacv1.AddToScheme,
		coordinationv1.AddToScheme,
		certificatesv1.AddToScheme,
		eventsv1.AddToScheme,
		apiextensionsv1.AddToScheme,
	} {
		if err := add(s); err != nil {
			return nil, fmt.Errorf("building the scheme: %w", err)
		}
	}
	return s, nil
}

// MetadataOf returns an empty PartialObjectMetadata of a kind.
func MetadataOf(kind schema.GroupVersionKind) *metav1.PartialObjectMetadata {
	obj := &metav1.PartialObjectMetadata{}
	obj.SetGroupVersionKind(kind)
	return obj
}
