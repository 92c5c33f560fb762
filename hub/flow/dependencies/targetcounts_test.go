package dependencies

import (
	"fmt"
	"math/rand/v2"
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

// TestTargetCountsMatchBindings creates, moves and deletes bindings in random order. After each step the counts must give the same
// clusters for each namespace as a scan of its bindings.
func TestTargetCountsMatchBindings(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	random := rand.New(rand.NewPCG(29, 8))
	counts, bindings := targetCounts{}, map[string]*workv1alpha2.ResourceBinding{}
	for range 3000 {
		b := &workv1alpha2.ResourceBinding{}
		b.Namespace, b.Name = []string{"shop", "lab"}[random.IntN(2)], fmt.Sprint(random.IntN(6))
		key := b.Namespace + "/" + b.Name
		was := sets.Set[string](nil)
		if before := bindings[key]; before != nil {
			was = targetsOf(before)
		}
		switch random.IntN(4) {
		case 0:
			delete(bindings, key)
			counts.change(b.Namespace, was, nil)
		default:
			for range random.IntN(4) {
				b.Spec.Clusters = append(b.Spec.Clusters, workv1alpha2.TargetCluster{Name: fmt.Sprintf("edge-%d", random.IntN(5))})
			}
			b.Spec.RequiredBy = []workv1alpha2.BindingSnapshot{{Namespace: b.Namespace, Name: "web", Clusters: b.Spec.Clusters[:len(b.Spec.Clusters)/2]}}
			if random.IntN(4) == 0 {
				b.DeletionTimestamp = new(metav1.Now())
			}
			bindings[key] = b
			counts.change(b.Namespace, was, targetsOf(b))
		}
		want := map[string]sets.Set[string]{"shop": {}, "lab": {}}
		for _, b := range bindings {
			want[b.Namespace] = want[b.Namespace].Union(targetsOf(b))
		}
		for namespace, clusters := range want {
			g.Expect(counts.clusters(namespace)).To(Equal(clusters))
		}
	}
	for key, b := range bindings {
		counts.change(b.Namespace, targetsOf(b), nil)
		delete(bindings, key)
	}
	g.Expect(counts.of).To(BeEmpty())
}
