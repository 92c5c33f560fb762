package kubefed

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// federatedPrefix begins the kinds that KubeFed generates, unless their FederatedTypeConfig says
// otherwise.
const federatedPrefix = "Federated"

// target is what a federated kind stands for.
type target struct {
	gvk schema.GroupVersionKind
	// suspended says that nothing of the kind is sent anywhere.
	suspended bool
	// bad says why nothing of the kind can be converted; empty if it can.
	bad string
	// by is the name of the FederatedTypeConfig.
	by string
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

// builtin is what a kind of Kubernetes is, for federated ones without a FederatedTypeConfig.
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
	return target{gvk: schema.GroupVersionKind{Group: of, Version: version, Kind: kind}}, known
}

const rbac = "rbac.authorization.k8s.io"
