package replicas

import (
	"fmt"
	"math/rand/v2"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/hub/adjust/replicas/scale"
)

// TestAutoscalersOfATemplateAreFound plays autoscalers that come, scale something else, and go, in any order: at every moment those
// of a template are what a look at all of them finds, and a version does not matter.
func TestAutoscalersOfATemplateAreFound(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	random := rand.New(rand.NewPCG(8, 27))
	pick := func(words ...string) string { return words[random.IntN(len(words))] }
	target := func() scale.Target {
		return scale.Target{APIVersion: pick("apps/v1", "apps/v2", "farm/v1"), Kind: pick("Deployment", "StatefulSet"), Name: pick("web", "api")}
	}
	w, all, several := newWants(), map[types.NamespacedName]scale.Target{}, 0
	for range 3000 {
		key := types.NamespacedName{Namespace: pick("shop", "other"), Name: fmt.Sprint(random.IntN(6))}
		all[key] = scale.Target{}
		if random.IntN(3) > 0 {
			all[key] = target()
		}
		w.set(key, all[key])
		b, of := &workv1alpha2.ResourceBinding{}, target()
		b.Namespace = pick("shop", "other")
		b.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: of.APIVersion, Kind: of.Kind, Namespace: b.Namespace, Name: of.Name}
		var want []types.NamespacedName
		for key, t := range all {
			theirs, its := schema.FromAPIVersionAndKind(t.APIVersion, t.Kind), schema.FromAPIVersionAndKind(of.APIVersion, of.Kind)
			if key.Namespace == b.Namespace && t.Name == of.Name && theirs.Group == its.Group && theirs.Kind == its.Kind {
				want = append(want, key)
			}
		}
		g.Expect(w.of(b)).To(ConsistOf(want))
		if len(want) > 1 {
			several++
		}
		known := 0
		for _, keys := range w.by {
			known += keys.Len()
			g.Expect(keys).NotTo(BeEmpty(), "of what nobody scales nothing is left")
		}
		g.Expect(known).To(Equal(len(w.targets)))
	}
	g.Expect(several).To(BeNumerically(">", 100))
}

// BenchmarkWhoScales measures finding the autoscaler of a changed template among this many others.
func BenchmarkWhoScales(b *testing.B) {
	for _, n := range []int{1000, 50000} {
		w := newWants()
		for i := range n {
			w.set(types.NamespacedName{Namespace: fmt.Sprint("team-", i%100), Name: fmt.Sprint(i)}, scale.Target{APIVersion: "apps/v1", Kind: "Deployment", Name: fmt.Sprint(i)})
		}
		of := &workv1alpha2.ResourceBinding{}
		of.Namespace, of.Spec.Resource = "team-7", workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "107"}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				if found := w.of(of); len(found) != 1 {
					b.Fatal(found)
				}
			}
		})
	}
}
