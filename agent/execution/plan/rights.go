package plan

import (
	"fmt"
	"slices"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

// GivesRights returns whether an object grants rights in the member (RBAC).
func GivesRights(o Object) bool {
	switch inOneGroup(o.GroupKind()).String() {
	case "Role.rbac.authorization.k8s.io", "RoleBinding.rbac.authorization.k8s.io",
		"ClusterRole.rbac.authorization.k8s.io", "ClusterRoleBinding.rbac.authorization.k8s.io":
		return true
	default:
		return false
	}
}

// MayNeed returns whether deleting an object may need the rights that another object grants: it is namespaced, so an
// account of its namespace deletes it, and the rights apply there. Namespaced RBAC may need cluster-wide RBAC; of two
// RBAC objects in one namespace neither waits for the other, so that there are no cycles.
func MayNeed(o, rights Object) bool {
	return o.Namespace != "" && (rights.Namespace == "" || rights.Namespace == o.Namespace && !GivesRights(o))
}

// NeedersIn returns the manifests of a Work whose deletion may need rights. It does not parse Works that do not
// mention the namespace of the rights.
func NeedersIn(work *workv1alpha1.Work, rights Object) []Manifest {
	if rights.Namespace != "" && !mention(work, []byte(`"`+rights.Namespace+`"`)) {
		return nil
	}
	return slices.DeleteFunc(Parse(work), func(m Manifest) bool { return m.Problem != nil || !MayNeed(m.Object, rights) })
}

// RightsMessage explains why an RBAC object is not deleted yet.
func RightsMessage(rights Object, first Wanted) string {
	return fmt.Sprintf("%s is not deleted from the member before %s, which is about to be deleted there and may need these rights: "+
		"see the events of that Work, or the condition DeletionsHeld of the Cluster", rights, first)
}
