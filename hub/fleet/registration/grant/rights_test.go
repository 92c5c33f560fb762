package grant

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

func TestRightsBelongToTheClusterAndNameItsAgentOnly(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	cluster := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{
		Name: "edge-1", UID: "u-1", Annotations: map[string]string{"fairlead.dev/joined": `{"id":"0123"}`},
	}}
	rights := To(cluster, "karmada-es-edge-1")

	owner := []metav1.OwnerReference{{
		APIVersion: "cluster.karmada.io/v1alpha1", Kind: "Cluster", Name: "edge-1", UID: "u-1", Controller: new(true),
	}}
	agent := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "fairlead.dev:join:0123"}}
	for _, o := range []struct {
		meta            metav1.ObjectMeta
		namespace, name string
	}{
		{rights.Works.ObjectMeta, "karmada-es-edge-1", "system:karmada:edge-1:agent-work"},
		{rights.WorksBinding.ObjectMeta, "karmada-es-edge-1", "system:karmada:edge-1:agent-work"},
		{rights.Lease.ObjectMeta, "karmada-cluster", "system:karmada:edge-1:agent-lease"},
		{rights.LeaseBinding.ObjectMeta, "karmada-cluster", "system:karmada:edge-1:agent-lease"},
		{rights.Cluster.ObjectMeta, "", "system:karmada:edge-1:agent"},
		{rights.ClusterBinding.ObjectMeta, "", "system:karmada:edge-1:agent"},
		{rights.Heartbeat.ObjectMeta, "karmada-cluster", "edge-1"},
	} {
		g.Expect(o.meta.Namespace).To(Equal(o.namespace))
		g.Expect(o.meta.Name).To(Equal(o.name))
		g.Expect(o.meta.OwnerReferences).To(Equal(owner))
		g.Expect(o.meta.Labels).To(HaveKeyWithValue("karmada.io/system", "true"))
	}
	g.Expect(rights.WorksBinding.Subjects).To(Equal(agent))
	g.Expect(rights.LeaseBinding.Subjects).To(Equal(agent))
	g.Expect(rights.ClusterBinding.Subjects).To(Equal(agent))
	g.Expect(rights.WorksBinding.RoleRef.Name).To(Equal(rights.Works.Name))
	g.Expect(rights.LeaseBinding.RoleRef.Name).To(Equal(rights.Lease.Name))
	g.Expect(rights.ClusterBinding.RoleRef.Name).To(Equal(rights.Cluster.Name))
}

func TestNothingIsGivenForEveryName(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	rights := To(&clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "edge-1"}}, "karmada-es-edge-1")
	for _, rule := range slices.Concat(rights.Works.Rules, rights.Lease.Rules, rights.Cluster.Rules) {
		g.Expect(rule.Verbs).NotTo(ContainElement(rbacv1.VerbAll))
		if slices.Contains(rule.Verbs, "delete") {
			g.Expect(rule.ResourceNames).To(Equal([]string{"edge-1.renewal"}))
		}
		g.Expect(rule.Resources).NotTo(ContainElement(rbacv1.ResourceAll))
		if slices.Contains(rule.Resources, "clusters") || slices.Contains(rule.Resources, "clusters/status") || slices.Contains(rule.Resources, "leases") {
			g.Expect(rule.ResourceNames).To(Equal([]string{"edge-1"}))
		}
	}
}

func TestRightsBelongToAJoinAndNotToAName(t *testing.T) {
	t.Parallel()
	for joined, want := range map[string][]rbacv1.Subject{
		"":                       nil,
		`{"id":"0123"}`:          {{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "fairlead.dev:join:0123"}},
		`{"token":"of earlier"}`: {{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "system:karmada:agent:edge-1"}},
	} {
		cluster := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "edge-1", Annotations: map[string]string{"fairlead.dev/joined": joined}}}
		NewWithT(t).Expect(To(cluster, "karmada-es-edge-1").WorksBinding.Subjects).To(Equal(want), joined)
	}
}
