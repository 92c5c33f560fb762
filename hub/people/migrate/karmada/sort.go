package karmada

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
)

// role classifies the objects of the old control plane.
type role int

// The roles, in the order in which objects are applied: overrides before the objects that they apply to, and objects
// before their bindings; policies come last, since they start the propagation.
const (
	// machinery are internal objects of the old control plane, which are omitted.
	machinery role = iota
	namespace
	definition
	setting
	template
	binding
	policy
	// cluster is a member, which must join this hub.
	cluster
	// work are Works: objects that were sent to members.
	work
	// once are requests that were already executed.
	once
	// unknown are objects of the old control plane without an equivalent.
	unknown
)

// roleOf returns the role of an object.
func roleOf(obj *unstructured.Unstructured) role {
	gvk := obj.GroupVersionKind()
	switch {
	case strings.HasSuffix(gvk.Group, "karmada.io") || gvk.Group == "multicluster.x-k8s.io":
		return ofKarmada(gvk.Kind)
	case internal(obj):
		return machinery
	case gvk.GroupKind() == schema.GroupKind{Kind: "Namespace"}:
		return namespace
	case gvk.Kind == "CustomResourceDefinition", gvk.Group == "scheduling.k8s.io":
		return definition
	default:
		return template
	}
}

func ofKarmada(kind string) role {
	switch kind {
	case "PropagationPolicy", "ClusterPropagationPolicy":
		return policy
	case "OverridePolicy", "ClusterOverridePolicy", "FederatedResourceQuota", "ClusterTaintPolicy",
		"ResourceInterpreterCustomization", "ResourceInterpreterWebhookConfiguration", "CronFederatedHPA", "Remedy":
		return setting
	case "ResourceBinding", "ClusterResourceBinding":
		return binding
	case "Cluster":
		return cluster
	case "Work":
		return work
	case "WorkloadRebalancer":
		return once
	default:
		return unknown
	}
}

// internal says whether a control plane creates an object for itself.
func internal(obj *unstructured.Unstructured) bool {
	name, labels := obj.GetName(), obj.GetLabels()
	switch {
	case claimed(obj):
		return false // a policy propagates it
	case ownNamespace(obj.GetNamespace()), labels[contract.SystemLabel] == contract.LabelTrue, labels["kubernetes.io/bootstrapping"] != "":
		return true
	case slices.ContainsFunc(obj.GetOwnerReferences(), func(ref metav1.OwnerReference) bool { return ref.Controller != nil && *ref.Controller }):
		return true
	}
	switch obj.GetKind() {
	case "Namespace":
		return ownNamespace(name) || name == "default"
	case "Event", "Lease", "Endpoints", "EndpointSlice", "APIService", "FlowSchema", "PriorityLevelConfiguration", "ControllerRevision", "Node",
		"ComponentStatus", "CertificateSigningRequest", "CSINode", "CSIStorageCapacity", "VolumeAttachment", "ServiceCIDR", "IPAddress",
		"StorageVersion", "StorageVersionMigration",
		"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding":
		return true
	case "ConfigMap":
		return name == "kube-root-ca.crt"
	case "Service":
		return name == "kubernetes" && obj.GetNamespace() == "default"
	case "ServiceAccount":
		return name == "default"
	case "Secret":
		return obj.Object["type"] == string(corev1.SecretTypeServiceAccountToken) || obj.Object["type"] == string(corev1.SecretTypeBootstrapToken)
	case "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding":
		return strings.HasPrefix(name, "system:") || strings.HasPrefix(name, "karmada-") || strings.HasPrefix(name, "system-") ||
			slices.Contains([]string{"admin", "edit", "view", "cluster-admin"}, name)
	case "CustomResourceDefinition": // this hub has its own versions of these
		return strings.HasSuffix(name, "karmada.io") || strings.HasSuffix(name, "multicluster.x-k8s.io") || strings.HasSuffix(name, ".fairlead.dev")
	case "PriorityClass":
		return strings.HasPrefix(name, "system-")
	}
	return false
}

// ownNamespace says whether a namespace is one of the control plane's own. Users have namespaces with the prefix
// karmada-, too.
func ownNamespace(name string) bool {
	return strings.HasPrefix(name, "kube-") || strings.HasPrefix(name, contract.DefaultExecutionNamespacePrefix) ||
		name == "karmada-system" || name == "karmada-cluster"
}

// claimed says whether a policy has claimed an object.
func claimed(obj *unstructured.Unstructured) bool {
	annotations := obj.GetAnnotations()
	return bindings.HasPolicy(obj) || annotations[contract.PropagationPolicyNameAnnotation] != "" || annotations[contract.ClusterPropagationPolicyNameAnnotation] != ""
}
