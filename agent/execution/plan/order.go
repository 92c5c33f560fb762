package plan

import (
	"cmp"
	"slices"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

// Order returns the manifests in the order in which they are applied: what others need first, and workloads last.
// Manifests of equal rank keep the order of the Work.
func Order(manifests []Manifest) []Manifest {
	out := slices.Clone(manifests)
	slices.SortStableFunc(out, func(a, b Manifest) int { return cmp.Compare(rank(a.Object), rank(b.Object)) })
	return out
}

// Ending returns the manifests of a Work in the order in which their objects are deleted when it ends: the reverse of
// Order, except that RBAC goes last, since accounts of a namespace may need it to delete the others, but before the
// Namespace that it is in. It includes manifests with a Problem whose object no other manifest describes: an agent of
// another version may have applied them.
func Ending(work *workv1alpha1.Work) []Manifest {
	all := Order(Parse(work))
	slices.Reverse(all)
	slices.SortStableFunc(all, func(a, b Manifest) int { return cmp.Compare(EndingRank(a.Object), EndingRank(b.Object)) })
	sound := map[Object]bool{}
	for _, m := range all {
		if m.Problem == nil {
			sound[m.Object] = true
		}
	}
	return slices.DeleteFunc(all, func(m Manifest) bool {
		return m.Problem != nil && (m.Object.Version == "" || m.Object.Kind == "" || m.Object.Name == "" || sound[m.Object])
	})
}

// Ranks of objects that are deleted after the others of their Work.
const (
	_ = iota
	rightsInNamespace
	containerRank
	rightsEverywhere
)

// EndingRank returns an object's rank in the order of deletion, across Works; the first is 0.
func EndingRank(o Object) int {
	switch {
	case IsContainer(o):
		return containerRank
	case GivesRights(o) && o.Namespace != "":
		return rightsInNamespace
	case GivesRights(o):
		return rightsEverywhere
	default:
		return 0
	}
}

// otherRank is the rank of kinds that are not listed, mostly custom resources.
const otherRank = 70

// rank returns the rank of a kind in the order.
func rank(o Object) int {
	switch o.Group + "/" + o.Kind {
	case "/Namespace":
		return 0
	case "apiextensions.k8s.io/CustomResourceDefinition":
		return 5
	case "scheduling.k8s.io/PriorityClass", "storage.k8s.io/StorageClass", "networking.k8s.io/IngressClass":
		return 10
	case "/ResourceQuota", "/LimitRange":
		return 15
	case "/ServiceAccount":
		return 20
	case "/Secret":
		return 25
	case "/ConfigMap":
		return 30
	case "/PersistentVolume":
		return 35
	case "/PersistentVolumeClaim":
		return 40
	case "rbac.authorization.k8s.io/ClusterRole", "rbac.authorization.k8s.io/Role":
		return 45
	case "rbac.authorization.k8s.io/ClusterRoleBinding", "rbac.authorization.k8s.io/RoleBinding":
		return 50
	case "networking.k8s.io/NetworkPolicy", "policy/PodDisruptionBudget":
		return 55
	case "/Service":
		return 60
	case "apps/Deployment", "apps/StatefulSet", "apps/DaemonSet", "apps/ReplicaSet",
		"batch/Job", "batch/CronJob", "/Pod", "/ReplicationController":
		return 80
	case "autoscaling/HorizontalPodAutoscaler", "networking.k8s.io/Ingress":
		return 90
	case "admissionregistration.k8s.io/MutatingWebhookConfiguration",
		"admissionregistration.k8s.io/ValidatingWebhookConfiguration",
		"apiregistration.k8s.io/APIService":
		return 95
	default:
		return otherRank
	}
}
