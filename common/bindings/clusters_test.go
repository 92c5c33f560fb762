package bindings_test

import (
	"testing"

	. "github.com/onsi/gomega"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
)

func TestClustersAreFoundInWhateverOrderTheyAre(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for _, names := range [][]string{nil, {"a"}, {"a", "b", "c"}, {"c", "a", "b"}, {"b", "a", "b"}} {
		var targets []workv1alpha2.TargetCluster
		for _, name := range names {
			targets = append(targets, workv1alpha2.TargetCluster{Name: name})
		}
		clusters := bindings.ClustersOf(targets)
		g.Expect(clusters.Len()).To(Equal(len(names)))
		for _, name := range names {
			g.Expect(clusters.Has(name)).To(BeTrue(), "%s of %v", name, names)
		}
		g.Expect(clusters.Has("")).To(BeFalse())
		g.Expect(clusters.Has("bb")).To(BeFalse())
		for i := range names {
			g.Expect(targets[i].Name).To(Equal(names[i]), "they are as they were")
		}
	}
}
