package plan

import (
	"cmp"
	"slices"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

// Order returns the manifests in the order in which they are applied: what others need
// comes first, and what starts last. Manifests of equal rank keep the order of the Work.
func Order(manifests []Manifest) []Manifest {
	out := slices.Clone(manifests)
	slices.SortStableFunc(out, func(a, b Manifest) int { return cmp.Compare(rank(a.Object), rank(b.Object)) })
	return out
}

// Ending returns the manifests of a Work in the order in which their objects go when it ends:
// what was applied last goes first. Of those with a Problem, the ones are among them that name
// an object which no other manifest is about: an agent of another version may have applied it.
func Ending(work *workv1alpha1.Work) []Manifest {
	all := Order(Parse(work))
	slices.Reverse(all)
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

// otherRank is the rank of the kinds that are not listed: custom resources, mostly.
const otherRank = 70

// rank returns the place of a kind in the order.
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
