package binding_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/revision"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/stagetest"
)

func existingWorkIsAdopted(t *testing.T, s *stage) {
	t.Helper()
	g, w := NewWithT(t), s.world(t, "a", "b")
	web := builder.MakeDeployment(w.namespace, "web").Replicas(2).Obj()
	b := w.create(t, web, "a", "b")
	g.Eventually(func() []string { return w.works(t, "web-") }, stagetest.Timeout, stagetest.Poll).Should(Equal([]string{"a", "b"}))
	w.byStrategy(t, b)
	// b has other content, which is corrected only as long as the stage has not seen the strategy.
	seen := 0
	g.Eventually(func() int {
		work := w.work(t, "b", web)
		if seen++; strings.Contains(string(work.Spec.Workload.Manifests[0].Raw), "nginx:1.27") {
			seen = 0
			work.Spec.Workload.Manifests[0].Raw = []byte(strings.ReplaceAll(string(work.Spec.Workload.Manifests[0].Raw), "nginx:1.27", "nginx:0"))
			work.Annotations[contract.ManifestHashAnnotation] = "of something else"
			_ = w.hub.Update(t.Context(), work) // a conflict leads to another try
		}
		return seen
	}, stagetest.Timeout, stagetest.Poll).Should(BeNumerically(">", 50))
	r := w.rollOut(t, b)
	w.wrote()
	w.stays(t)
	r.says(t, 1, map[string]int64{"b": 0}, r.cut(t, 1, fairleadv1alpha1.CauseAdopted, w.source(t, web, b)))
	g.Eventually(func() map[string]string { return w.has(t, web, "a", "b") }, stagetest.Timeout, stagetest.Poll).Should(Equal(map[string]string{"a": "nginx:1.27", "b": "nginx:0"}))
	g.Eventually(func() string { return w.work(t, "b", web).Annotations[contract.ManifestHashAnnotation] }, stagetest.Timeout, stagetest.Poll).ShouldNot(Equal("of something else"))
	g.Expect(w.wrote()).To(Equal([]string{"PATCH"}), "only b is written, since a has r1 already")
	w.stays(t)

	// An edit: a is held at r1 and b at its content, and both are scaled.
	w.edit(t, web, b, image("nginx:2"))
	w.stays(t)
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) {
		b.Spec.Clusters[0].Replicas, b.Spec.Clusters[1].Replicas, b.Spec.Replicas = 7, 7, 7
	})
	for _, member := range []string{"a", "b"} {
		g.Eventually(func() any { return manifest(t, w.work(t, member, web), "spec", "replicas") }, stagetest.Timeout, stagetest.Poll).Should(BeEquivalentTo(7))
	}
	g.Expect(w.has(t, web, "a", "b")).To(Equal(map[string]string{"a": "nginx:1.27", "b": "nginx:0"}))
	// r1 is sent to b.
	r.says(t, 1, map[string]int64{"b": 1})
	g.Eventually(func() map[string]string { return w.has(t, web, "b") }, stagetest.Timeout, stagetest.Poll).Should(HaveKeyWithValue("b", "nginx:1.27 r1"))
	r.says(t, 1, map[string]int64{"a": 2}, r.cut(t, 2, "Edited", w.source(t, web, b)))
	g.Eventually(func() map[string]string { return w.has(t, web, "a", "b") }, stagetest.Timeout, stagetest.Poll).Should(Equal(map[string]string{"a": "nginx:2 r2", "b": "nginx:1.27 r1"}))
}

func theSameContentAgain(t *testing.T, s *stage) {
	t.Helper()
	g := NewWithT(t)
	w, web, b, r := twoWaves(t, s)
	// The edit is reverted: r3 has the content of r1.
	change(t, w, web, func(o *unstructured.Unstructured) {
		containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
		container, _ := containers[0].(map[string]any)
		container["image"] = "nginx:1.27"
		g.Expect(unstructured.SetNestedSlice(o.Object, containers, "spec", "template", "spec", "containers")).To(Succeed())
	})
	r1, err := revision.Make(w.source(t, web, b))
	g.Expect(err).NotTo(HaveOccurred())
	hash, err := r1.Hash()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(hash).To(Equal(r.obj.RolloutStatus().Revisions[0].Hash))
	r.says(t, 1, map[string]int64{"a": 3, "b": 3}, r.cut(t, 3, "Edited", w.source(t, web, b)))
	g.Eventually(func() map[string]string { return w.has(t, web, "a", "b") }, stagetest.Timeout, stagetest.Poll).Should(Equal(map[string]string{"a": "nginx:1.27 r3", "b": "nginx:1.27 r1"}))
}

// aRolloutMadeAnew deletes a rollout, and with it its status. The Works stay, and the next revision has a higher number than they have.
func aRolloutMadeAnew(t *testing.T, s *stage) {
	t.Helper()
	g := NewWithT(t)
	w, web, b, r := twoWaves(t, s)
	g.Expect(w.hub.Delete(t.Context(), r.obj)).To(Succeed())
	w.edit(t, web, b, image("nginx:3"))
	w.stays(t)
	again := w.rollOut(t, b)
	r3 := again.cut(t, 3, "Adopted", w.source(t, web, b))
	again.says(t, 0, nil, r3)
	w.stays(t)
	again.says(t, 0, map[string]int64{"b": 3})
	g.Eventually(func() map[string]string { return w.has(t, web, "a", "b") }, stagetest.Timeout, stagetest.Poll).Should(Equal(map[string]string{"a": "nginx:2 r2", "b": "nginx:3 r3"}))
	again.says(t, 3, nil)
	g.Eventually(func() map[string]string { return w.has(t, web, "a", "b") }, stagetest.Timeout, stagetest.Poll).Should(Equal(map[string]string{"a": "nginx:3 r3", "b": "nginx:3 r3"}))
}
