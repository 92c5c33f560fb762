package match

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/common/selector"
)

// isGrant says whether a template says who may do what in a namespace, or how much. Whoever has the role edit there writes policies and
// no such objects, so a PropagationPolicy takes none of them from a ClusterPropagationPolicy: it would take an administrator's quota out
// of the members by sending it elsewhere.
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
