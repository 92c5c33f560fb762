package grant

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

func TestRightsBelongToTheClusterAndNameItsAgentOnly(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	cluster := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{
		Name: "edge-1", UID: "u-1", Annotations: map[string]string{"fairlead.dev/joined": `{"id":"0123"}`},
	}}
	rights := To(cluster, "karmada-es-edge-1")
	role, binding := rights.Cluster.DeepCopy(), rights.ClusterBinding.DeepCopy()
	role.UID, binding.UID = "u-2", "u-3" // the hub created these
	rights.Own(role, binding)

	owner := func(apiVersion, kind, name string, uid types.UID) []metav1.OwnerReference {
		return []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: name, UID: uid, Controller: new(true)}}
	}
	ofCluster := owner("cluster.karmada.io/v1alpha1", "Cluster", "edge-1", "u-1")
	ofRole := owner("rbac.authorization.k8s.io/v1", "ClusterRole", "system:karmada:edge-1:agent", "u-2")
	ofBinding := owner("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "system:karmada:edge-1:agent", "u-3")
	namespaces := map[types.UID]string{}
	agent := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "fairlead.dev:join:0123"}}
	for _, o := range []struct {
		meta            metav1.ObjectMeta
		namespace, name string
		owner           []metav1.OwnerReference
	}{
		{rights.Works.ObjectMeta, "karmada-es-edge-1", "system:karmada:edge-1:agent-work", ofBinding},
		{rights.WorksBinding.ObjectMeta, "karmada-es-edge-1", "system:karmada:edge-1:agent-work", ofBinding},
		{rights.Lease.ObjectMeta, "karmada-cluster", "system:karmada:edge-1:agent-lease", ofRole},
		{rights.LeaseBinding.ObjectMeta, "karmada-cluster", "system:karmada:edge-1:agent-lease", ofRole},
		{rights.Cluster.ObjectMeta, "", "system:karmada:edge-1:agent", ofCluster},
		{rights.ClusterBinding.ObjectMeta, "", "system:karmada:edge-1:agent", ofCluster},
		{rights.Heartbeat.ObjectMeta, "karmada-cluster", "edge-1", ofRole},
	} {
		g.Expect(o.meta.Namespace).To(Equal(o.namespace))
		g.Expect(o.meta.Name).To(Equal(o.name))
		g.Expect(o.meta.OwnerReferences).To(Equal(o.owner))
		// Otherwise the garbage collector would look all of them up in the API whenever it starts.
		g.Expect(namespaces).To(Or(Not(HaveKey(o.owner[0].UID)), HaveKeyWithValue(o.owner[0].UID, o.namespace)), "what belongs to one is in one namespace")
		namespaces[o.owner[0].UID] = o.namespace
		of, is := ClusterOf(o.namespace, o.name)
		g.Expect(of).To(Equal("edge-1"), "by which its stage is woken")
		g.Expect(is).To(BeTrue())
		g.Expect(o.meta.Labels).To(HaveKeyWithValue("karmada.io/system", "true"))
	}
	g.Expect(rights.WorksBinding.Subjects).To(Equal(agent))
	g.Expect(rights.LeaseBinding.Subjects).To(Equal(agent))
	g.Expect(rights.ClusterBinding.Subjects).To(Equal(agent))
	g.Expect(rights.WorksBinding.RoleRef.Name).To(Equal(rights.Works.Name))
	g.Expect(rights.LeaseBinding.RoleRef.Name).To(Equal(rights.Lease.Name))
	g.Expect(rights.ClusterBinding.RoleRef.Name).To(Equal(rights.Cluster.Name))
}

func TestOnlyRightsOfAgentsAreOfACluster(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for _, o := range []struct{ namespace, name string }{
		{"", "cluster-admin"}, {"shop", "edge-1"}, {"", "system:karmada:edge-1"}, {"karmada-cluster", "system:karmada:edge-1:agent-retired"},
	} {
		_, is := ClusterOf(o.namespace, o.name)
		g.Expect(is).To(BeFalse(), o.name)
	}
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
