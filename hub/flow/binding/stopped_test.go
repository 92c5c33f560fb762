package binding_test

import (
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/cluster"
	"fairlead.dev/test/stagetest"
)

// TestInterruptedDeletionIsUndone stops a hub after it wrote the deletion intent on Works, before it deleted them. One of
// them is wanted again, with the former option of its policy; the other one must be kept as it is.
func TestInterruptedDeletionIsUndone(t *testing.T) {
	g := NewWithT(t)
	api := cluster.Shared(t, cluster.Options{Profile: cluster.Hub})
	w := (&stage{cluster: api, hub: api.Client(t)}).world(t, "a", "b")
	wanted, kept := builder.MakeConfigMap(w.namespace, "wanted").Obj(), builder.MakeConfigMap(w.namespace, "kept").Obj()
	stop := w.run(t, "v1")
	ofWanted, ofKept := w.create(t, wanted, "a", "b"), w.create(t, kept, "a", "b")
	for _, name := range []string{"wanted-", "kept-"} {
		g.Eventually(func() []string { return w.works(t, name) }, stagetest.Timeout, stagetest.Poll).Should(Equal([]string{"a", "b"}))
	}
	w.stop("DELETE", w.workKey("b", wanted).Name)
	w.stop("DELETE", w.workKey("b", kept).Name)
	change(t, w, ofWanted, func(b *workv1alpha2.ResourceBinding) {
		b.Spec.Clusters, b.Spec.PreserveResourcesOnDeletion = w.shares("a"), new(true)
	})
	change(t, w, ofKept, func(b *workv1alpha2.ResourceBinding) { b.Spec.Clusters = w.shares("a") })
	g.Eventually(func() string { return w.intent(t, "b", wanted) }, stagetest.Timeout, stagetest.Poll).Should(Equal(contract.DeletionMoved))
	g.Eventually(func() string { return w.intent(t, "b", kept) }, stagetest.Timeout, stagetest.Poll).Should(Equal(contract.DeletionMoved))
	preserved := func() *bool { return w.work(t, "b", wanted).Spec.PreserveResourcesOnDeletion }
	g.Expect(preserved()).To(HaveValue(BeTrue()))
	stop()

	change(t, w, ofWanted, func(b *workv1alpha2.ResourceBinding) {
		b.Spec.Clusters, b.Spec.PreserveResourcesOnDeletion = w.shares("a", "b"), nil
	})
	change(t, w, ofKept, func(b *workv1alpha2.ResourceBinding) {
		b.Spec.GracefulEvictionTasks = []workv1alpha2.GracefulEvictionTask{{
			FromCluster: w.member("b"), PurgeMode: policyv1alpha1.PurgeNever, Reason: "TaintUntolerated", Producer: "test",
			CreationTimestamp: &metav1.Time{Time: metav1.Now().Time},
		}}
	})
	stop = w.run(t, "v1")
	g.Eventually(func() string { return w.intent(t, "b", wanted) }, stagetest.Timeout, stagetest.Poll).Should(BeEmpty())
	g.Eventually(preserved, stagetest.Timeout, stagetest.Poll).Should(HaveValue(BeFalse()), "the object is not preserved any more")
	g.Eventually(func() string { return w.intent(t, "b", kept) }, stagetest.Timeout, stagetest.Poll).Should(BeEmpty(), "the deletion intent is removed, so that a manual deletion keeps the object")
	g.Expect(w.works(t, "")).To(Equal([]string{"a", "a", "b", "b"}))
	stop()
}
