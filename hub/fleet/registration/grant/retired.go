package grant

import (
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
)

// Retirement reserves the name of a forgotten Cluster, and lets its former agent read that it was forgotten. It is not
// owned by the Cluster, so it outlives it.
type Retirement struct {
	Record  *corev1.ConfigMap
	Role    *rbacv1.Role
	Binding *rbacv1.RoleBinding
}

// Retired returns the retirement of a Cluster.
func Retired(cluster *clusterv1alpha1.Cluster, at, by string) Retirement {
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{
			Namespace: contract.ClusterNamespace, Name: name, Labels: map[string]string{contract.SystemLabel: contract.LabelTrue},
		}
	}
	record := contract.RetiredName(cluster.Name)
	role := "system:karmada:" + cluster.Name + ":agent-retired"
	return Retirement{
		Record: &corev1.ConfigMap{ObjectMeta: meta(record), Data: map[string]string{
			contract.RetiredMemberKey:      cluster.Spec.ID,
			contract.RetiredAtKey:          at,
			contract.RetiredByKey:          by,
			contract.RetiredCertificateKey: cluster.Annotations[contract.CertificateAnnotation],
		}},
		Role: &rbacv1.Role{ObjectMeta: meta(role), Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{record}, Verbs: []string{"get"},
		}}},
		Binding: &rbacv1.RoleBinding{
			ObjectMeta: meta(role),
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role},
			Subjects:   agentOf(cluster),
		},
	}
}

// RetiredOf returns the objects of a retirement by name only, as is enough to delete them.
func RetiredOf(cluster string) Retirement {
	return Retired(&clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: cluster}}, "", "")
}
