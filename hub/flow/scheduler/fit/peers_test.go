package fit_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/prose"
	"fairlead.dev/hub/flow/scheduler/fit"
)

// at returns the clusters of a peer.
func at(names ...string) bindings.Clusters {
	targets := make([]workv1alpha2.TargetCluster, len(names))
	for i, name := range names {
		targets[i].Name = name
	}
	return bindings.ClustersOf(targets)
}

func TestPeersOf(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	grouped := func(name, with, away string, clusters ...string) *workv1alpha2.ResourceBinding {
		b := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if with != "" || away != "" {
			b.Spec.WorkloadAffinityGroups = &workv1alpha2.WorkloadAffinityGroups{AffinityGroup: with, AntiAffinityGroup: away}
		}
		for _, c := range clusters {
			b.Spec.Clusters = append(b.Spec.Clusters, workv1alpha2.TargetCluster{Name: c})
		}
		return b
	}
	self := grouped("self", "app=a", "rack=b", "x")
	others := []*workv1alpha2.ResourceBinding{
		self, grouped("friend", "app=a", "", "x"), grouped("foe", "", "rack=b", "y"), grouped("both", "app=a", "rack=b", "z"),
		grouped("stranger", "app=c", "rack=d", "x"), grouped("nowhere", "app=a", ""), grouped("alone", "", "", "x"),
	}
	got := fit.PeersOf(self, others, func(b *workv1alpha2.ResourceBinding) []workv1alpha2.TargetCluster { return b.Spec.Clusters })
	g.Expect(got.Together).To(Equal([]fit.Peer{{Name: "friend", Clusters: at("x")}, {Name: "both", Clusters: at("z")}}))
	g.Expect(got.Apart).To(Equal([]fit.Peer{{Name: "foe", Clusters: at("y")}, {Name: "both", Clusters: at("z")}}))
}

// TestExplainShortensLongLists checks the explanation for a cluster that is rejected because a peer is in thousands of others.
func TestExplainShortensLongLists(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	elsewhere := func(n int) *fit.Query {
		names := make([]string, n)
		for i := range names {
			names[i] = fmt.Sprintf("edge-%04d", i)
		}
		return &fit.Query{Peers: fit.Peers{Together: []fit.Peer{{Name: "web", Clusters: at(names...)}}}}
	}
	g.Expect(fit.Explain(fit.WorkloadAffinity, elsewhere(2), member(nil))).To(Equal(`"web" of the same affinity group is on edge-0000, edge-0001`))
	g.Expect(fit.Explain(fit.WorkloadAffinity, elsewhere(5000), member(nil))).
		To(Equal(`"web" of the same affinity group is on edge-0000, edge-0001, edge-0002, edge-0003, edge-0004 and 4995 more`))

	labelled := member(func(c *clusterv1alpha1.Cluster) {
		c.Labels = map[string]string{}
		for i := range 200 {
			c.Labels[fmt.Sprintf("label-%03d", i)] = "a-value-of-some-length"
		}
	})
	g.Expect(len(fit.Explain(fit.NamespaceClusters, &fit.Query{}, labelled))).To(BeNumerically("<=", prose.OfCondition))
}
