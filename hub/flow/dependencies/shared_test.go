package dependencies_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/types"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/test/stagetest"
)

// TestClustersThatManyWorkloadsHaveAlikeAreStoredOnce goes through the API, which stores what it knows only.
func TestClustersThatManyWorkloadsHaveAlikeAreStoredOnce(t *testing.T) {
	w := start(t)
	g := NewWithT(t)
	w.create(t, w.configMap("shared"))
	const n, clusters = 8, 1000
	var targets []workv1alpha2.TargetCluster
	for i := range clusters {
		targets = append(targets, workv1alpha2.TargetCluster{Name: fmt.Sprintf("member-%05d", i)})
	}
	var all []*workv1alpha2.ResourceBinding
	for i := range n {
		_, b := w.deployment(t, fmt.Sprintf("app-%d", i), "shared")
		change(t, w, b, func(b *workv1alpha2.ResourceBinding) { b.Spec.Clusters = targets })
		all = append(all, b)
	}
	by := func() map[string]int {
		b := &workv1alpha2.ResourceBinding{}
		if err := w.hub.Get(t.Context(), types.NamespacedName{Namespace: w.namespace, Name: "shared-configmap"}, b); err != nil {
			return nil
		}
		out := map[string]int{"all": len(bindings.Targets(&b.Spec)), "stored": 0}
		for _, s := range b.Spec.RequiredBy {
			out["stored"] += len(s.Clusters)
		}
		for _, s := range bindings.Snapshots(&b.Spec) {
			out[s.Name] = len(s.Clusters)
		}
		return out
	}
	want := map[string]int{"all": clusters, "stored": clusters}
	for _, b := range all {
		want[b.Name] = clusters
	}
	g.Eventually(by, stagetest.Timeout, stagetest.Poll).Should(Equal(want))

	change(t, w, all[0], func(b *workv1alpha2.ResourceBinding) { b.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: "other"}} })
	want["all"], want["stored"], want[all[0].Name] = clusters+1, clusters+1, 1
	g.Eventually(by, stagetest.Timeout, stagetest.Poll).Should(Equal(want), "the others stay where they are")
}
