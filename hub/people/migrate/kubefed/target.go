package kubefed

import (
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// federatedPrefix begins the kinds that KubeFed generates, unless their FederatedTypeConfig says
// otherwise.
const federatedPrefix = "Federated"

// target is the kind that a federated kind distributes.
type target struct {
	gvk schema.GroupVersionKind
	// suspended says that nothing of the kind is sent anywhere.
	suspended bool
	// bad says why nothing of the kind can be converted; empty if it can.
	bad string
	// by is the name of the FederatedTypeConfig.
	by string
	// scope says whether objects of the kind are in a namespace; empty if nobody says so.
	scope apiextensionsv1.ResourceScope
}

// placed says what is wrong with the namespace of a federated object, which says where its target
// is; empty if nothing is.
func (t target) placed(namespace string) string {
	switch {
	case t.isNamespace():
		return ""
	case t.scope == apiextensionsv1.NamespaceScoped && namespace == "":
		return fmt.Sprintf("it is missing, and every %s is in one; write it into the file", t.gvk.Kind)
	case t.scope == apiextensionsv1.ClusterScoped && namespace != "":
		return fmt.Sprintf("a %s is in no namespace; remove it", t.gvk.Kind)
	}
	return ""
}

// scalable says whether KubeFed divides replicas of the kind.
func (t target) scalable() bool {
	switch t.gvk.GroupKind() {
	case schema.GroupKind{Group: "apps", Kind: "Deployment"}, schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}, schema.GroupKind{Group: "apps", Kind: "StatefulSet"}:
		return true
	}
	return false
}

// isNamespace says whether it is the kind whose placement bounds that of others.
func (t target) isNamespace() bool {
	return t.gvk.GroupKind() == schema.GroupKind{Kind: "Namespace"}
}

// builtin returns the target for a kind of Kubernetes whose federated kind has no FederatedTypeConfig.
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
	of, known := group[kind]
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
	return target{gvk: schema.GroupVersionKind{Group: of, Version: version, Kind: kind}, scope: scope}, known
}

// scopeOf is the scope of a kind that a FederatedTypeConfig names: what it says, or what is known of
// a kind of Kubernetes.
func scopeOf(said string, kind schema.GroupKind) apiextensionsv1.ResourceScope {
	if t, known := builtin(kind.Kind); known && t.gvk.Group == kind.Group {
		return t.scope
	}
	return apiextensionsv1.ResourceScope(said)
}

const rbac = "rbac.authorization.k8s.io"
