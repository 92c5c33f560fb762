package fit_test

import (
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/hub/flow/scheduler/fit"
)

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
	g.Expect(got.Together).To(Equal([]fit.Peer{{Name: "friend", Clusters: sets.New("x")}, {Name: "both", Clusters: sets.New("z")}}))
	g.Expect(got.Apart).To(Equal([]fit.Peer{{Name: "foe", Clusters: sets.New("y")}, {Name: "both", Clusters: sets.New("z")}}))
}
