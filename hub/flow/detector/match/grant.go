package match

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/common/selector"
)

// isGrant returns whether a template grants rights in a namespace or limits its resources. Users with the role edit may write policies
// there, but not such objects. So a PropagationPolicy does not take them from a ClusterPropagationPolicy: it could send an administrator's
// quota to other clusters, and so remove it from the members.
func isGrant(t selector.Target) bool {
	gv, err := schema.ParseGroupVersion(t.APIVersion)
	if err != nil {
		return false
	}
	switch gv.Group {
	case corev1.GroupName:
		return slices.Contains([]string{"LimitRange", "ResourceQuota"}, t.Kind)
	case rbacv1.GroupName:
		return slices.Contains([]string{"Role", "RoleBinding"}, t.Kind)
	default:
		return false
	}
}
