package scheduler_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/evictions"
	"fairlead.dev/test/stagetest"
)

// mayUse sets which clusters the namespace of a world allows; nil means all.
func (w *world) mayUse(t *testing.T, text *string) {
	t.Helper()
	change(t, w, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}, func(ns *corev1.Namespace) {
		delete(ns.Annotations, contract.ClustersAnnotation)
		if text != nil {
			metav1.SetMetaDataAnnotation(&ns.ObjectMeta, contract.ClustersAnnotation, *text)
		}
	})
}

func TestANamespaceHasOnlyTheClustersThatItMayUse(t *testing.T) {
	w := start(t)
	g := NewWithT(t)
	for _, name := range []string{"pier-1", "pier-2"} {
		c := w.join(t, name, "pier")
		t.Cleanup(func() { _ = w.hub.Delete(context.WithoutCancel(t.Context()), c) }) // other tests count clusters
		// Only a copy in a Ready cluster is taken back.
		meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: clusterv1alpha1.ClusterReady, Status: metav1.ConditionTrue, Reason: "ClusterReady"})
		g.Expect(w.hub.Status().Update(t.Context(), c)).To(Succeed())
	}
	change(t, w, &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "pier-1"}}, func(c *clusterv1alpha1.Cluster) { c.Labels["team"] = "fish" })
	web := w.binding("fish", "pier")
	ofOthers := w.binding("ofothers", "pier")
	ofOthers.Spec.SchedulerName = "another"
	ofOthers.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: "pier-1", Replicas: 2}, {Name: "pier-2", Replicas: 2}}
	suspended := w.binding("suspended", "pier")
	suspended.Spec.Suspension = &workv1alpha2.Suspension{Scheduling: new(true)}
	suspended.Spec.Clusters = ofOthers.Spec.Clusters
	kept := w.binding("kept", "pier")
	kept.Spec.Suspension = suspended.Spec.Suspension
	kept.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: "pier-1", Replicas: 2}}
	kept.Spec.GracefulEvictionTasks = []workv1alpha2.GracefulEvictionTask{{
		FromCluster: "pier-2", Replicas: new(int32(2)), PurgeMode: policyv1alpha1.PurgeNever, Producer: workv1alpha2.ProducerApplicationFailover, Reason: workv1alpha2.EvictionApplicationFailure,
	}}
	all := []*workv1alpha2.ResourceBinding{web, ofOthers, suspended, kept}
	for _, b := range all {
		g.Expect(w.hub.Create(t.Context(), b)).To(Succeed())
		t.Cleanup(func() { _ = w.hub.Delete(context.WithoutCancel(t.Context()), b) })
	}
	where := func() [][]string {
		out := make([][]string, len(all))
		for i, b := range all {
			out[i] = []string{}
			for _, target := range read(t, w, b).Spec.Clusters {
				out[i] = append(out[i], target.Name)
			}
		}
		return out
	}
	said := func() string {
		if c := meta.FindStatusCondition(read(t, w, web).Status.Conditions, workv1alpha2.BindingScheduled); c != nil {
			return c.Reason + " " + c.Message
		}
		return ""
	}
	both, one := []string{"pier-1", "pier-2"}, []string{"pier-1"}
	g.Eventually(where, stagetest.Timeout, stagetest.Poll).Should(Equal([][]string{both, both, both, one}))

	w.mayUse(t, new("team in"))
	g.Eventually(said, stagetest.Timeout, stagetest.Poll).Should(And(HavePrefix("SchedulerError"), ContainSubstring("Namespace "+w.namespace), ContainSubstring("is no label selector")))
	w.mayUse(t, new("team=meat"))
	g.Eventually(said, stagetest.Timeout, stagetest.Poll).Should(And(HavePrefix("SchedulerError"), ContainSubstring("no Cluster has them")))
	g.Consistently(where, stagetest.Quiet, stagetest.Poll).Should(Equal([][]string{both, both, both, one}), "nothing is taken away by a mistake")

	w.mayUse(t, new("team=fish"))
	g.Eventually(where, stagetest.Timeout, stagetest.Poll).Should(Equal([][]string{one, one, one, one}))
	g.Eventually(said, stagetest.Timeout, stagetest.Poll).Should(And(HavePrefix("Success"), ContainSubstring("Left out: pier-2; namespace "+w.namespace), HaveSuffix("team=fish.")))
	for _, b := range all {
		g.Eventually(func() []workv1alpha2.GracefulEvictionTask { return read(t, w, b).Spec.GracefulEvictionTasks }, stagetest.Timeout, stagetest.Poll).Should(
			HaveExactElements(HaveField("Producer", workv1alpha2.ProducerNamespaceClusters)), "%s, of which one has left pier-2 before", b.Name)
		task := b.Spec.GracefulEvictionTasks[0]
		g.Expect([]string{task.FromCluster, task.Reason}).To(Equal([]string{"pier-2", workv1alpha2.EvictionNotAllowed}))
		g.Expect(task.PurgeMode).To(Equal(policyv1alpha1.PurgeGracefully), "whatever the policy of a tenant says")
		g.Expect(evictions.Of(b)).To(HaveLen(1))
		name := b.Spec.Resource.Name
		g.Eventually(func() []string { return w.told(name) }, stagetest.Timeout, stagetest.Poll).Should(ContainElement(ContainSubstring("Leaving cluster pier-2. Cluster pier-2 may not be used any more")))
	}
	before := web.ResourceVersion
	change(t, w, &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "pier-1"}}, func(c *clusterv1alpha1.Cluster) { c.Spec.Region = "south" })
	g.Consistently(func() string { return read(t, w, web).ResourceVersion }, stagetest.Quiet, stagetest.Poll).Should(Equal(before), "nothing changed for it")

	// The label of a cluster counts as well, also for what others place.
	change(t, w, &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "pier-2"}}, func(c *clusterv1alpha1.Cluster) { c.Labels["team"] = "fish" })
	g.Eventually(where, stagetest.Timeout, stagetest.Poll).Should(Equal([][]string{both, one, one, one}))
	change(t, w, &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "pier-1"}}, func(c *clusterv1alpha1.Cluster) { c.Labels["team"] = "meat" })
	g.Eventually(where, stagetest.Timeout, stagetest.Poll).Should(Equal([][]string{{"pier-2"}, {}, {}, {}}))
	w.mayUse(t, nil)
	g.Eventually(where, stagetest.Timeout, stagetest.Poll).Should(Equal([][]string{both, {}, {}, {}}))
	g.Eventually(said, stagetest.Timeout, stagetest.Poll).Should(Equal("Success Binding has been scheduled successfully."))
}
