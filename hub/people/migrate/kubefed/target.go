package kubefed

import (
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// federatedPrefix starts the names of the kinds that KubeFed generates, unless their FederatedTypeConfig says
// otherwise.
const federatedPrefix = "Federated"

// target is the kind that a federated kind distributes.
type target struct {
	gvk schema.GroupVersionKind
	// suspended says that objects of the kind are sent nowhere.
	suspended bool
	// bad says why objects of the kind cannot be converted; empty if they can.
	bad string
	// by is the name of the FederatedTypeConfig.
	by string
	// scope says whether the kind is namespaced; empty if unknown.
	scope apiextensionsv1.ResourceScope
}

// placed says what is wrong with the namespace of a federated object, which determines that of its target; empty if
// nothing is.
func (t target) placed(namespace string) string {
	switch {
	case t.isNamespace():
		return ""
	case t.scope == apiextensionsv1.NamespaceScoped && namespace == "":
		return fmt.Sprintf("it is missing, and every %s has one; write it into the file", t.gvk.Kind)
	case t.scope == apiextensionsv1.ClusterScoped && namespace != "":
		return fmt.Sprintf("a %s is not namespaced; remove it", t.gvk.Kind)
	}
	return ""
}

// scalable says whether KubeFed divides the replicas of the kind.
func (t target) scalable() bool {
	switch t.gvk.GroupKind() {
	case schema.GroupKind{Group: "apps", Kind: "Deployment"}, schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}, schema.GroupKind{Group: "apps", Kind: "StatefulSet"}:
		return true
	}
	return false
}

// isNamespace says whether the kind is Namespace, whose placement restricts that of others.
func (t target) isNamespace() bool {
	return t.gvk.GroupKind() == schema.GroupKind{Kind: "Namespace"}
}

// builtin returns the target of a built-in kind whose federated kind has no FederatedTypeConfig.
func builtin(kind string) (target, bool) {
	group := map[string]string{
		"ConfigMap": "", "LimitRange": "", "Namespace": "", "PersistentVolume": "", "PersistentVolumeClaim": "", "Pod": "",
		"ReplicationController": "", "ResourceQuota": "", "Secret": "", "Service": "", "ServiceAccount": "",
		"DaemonSet": "apps", "Deployment": "apps", "ReplicaSet": "apps", "StatefulSet": "apps",
		"CronJob": "batch", "Job": "batch",
		"HorizontalPodAutoscaler": "autoscaling",
		"Ingress":                 "networking.k8s.io", "IngressClass": "networking.k8s.io", "NetworkPolicy": "networking.k8s.io",
		"PodDisruptionBudget": "policy", "PriorityClass": "scheduling.k8s.io", "StorageClass": "storage.k8s.io",
		"ClusterRole": rbac, "ClusterRoleBinding": rbac, "Role": rbac, "RoleBinding": rbac,
		"CustomResourceDefinition": "apiextensions.k8s.io",
	}
	apiGroup, known := group[kind]
	version := "v1"
	if kind == "HorizontalPodAutoscaler" {
		version = "v2"
	}
	scope := apiextensionsv1.NamespaceScoped
	if slices.Contains([]string{
		"Namespace", "PersistentVolume", "IngressClass", "PriorityClass", "StorageClass", "ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition",
	}, kind) {
		scope = apiextensionsv1.ClusterScoped
	}
	return target{gvk: schema.GroupVersionKind{Group: apiGroup, Version: version, Kind: kind}, scope: scope}, known
}

// scopeOf is the scope of a kind that a FederatedTypeConfig names: what it says, or what is known of
// a kind of Kubernetes.
func scopeOf(declared string, kind schema.GroupKind) apiextensionsv1.ResourceScope {
	if t, known := builtin(kind.Kind); known && t.gvk.Group == kind.Group {
		return t.scope
	}
	return apiextensionsv1.ResourceScope(declared)
}

const rbac = "rbac.authorization.k8s.io"
