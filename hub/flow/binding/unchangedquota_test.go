package binding_test

import (
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/quota"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/cluster"
	"fairlead.dev/test/stagetest"
)

// TestStartRendersOnlyChangedQuotas restarts the stage without a change, and after each input of the quota check was
// changed while no stage ran.
func TestStartRendersOnlyChangedQuotas(t *testing.T) {
	g := NewWithT(t)
	api := cluster.Shared(t, cluster.Options{Profile: cluster.Hub})
	s := &stage{cluster: api, hub: api.Client(t)}
	w := s.world(t, "a", "b")
	bound := &policyv1alpha1.FederatedResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "q"}}
	bound.Spec.Overall = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100")}
	g.Expect(w.hub.Create(t.Context(), bound)).To(Succeed())
	template := builder.MakeDeployment(w.namespace, "web").Replicas(2).Set([]any{map[string]any{
		"name": "web", "image": "nginx:1", "resources": map[string]any{"requests": map[string]any{"cpu": "1", "memory": "1Gi"}},
	}}, "spec", "template", "spec", "containers").Obj()
	asks := func(cpu string) func(*workv1alpha2.ResourceBinding) {
		return func(b *workv1alpha2.ResourceBinding) {
			b.Spec.ReplicaRequirements = &workv1alpha2.ReplicaRequirements{ResourceRequest: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse("1Gi"),
			}}
			metav1.SetMetaDataAnnotation(&b.ObjectMeta, contract.AdmittedRequestsAnnotation, quota.Admit(&b.Spec))
		}
	}
	b := w.create(t, template, "a")
	w.see(t, template, b)
	change(t, w, b, asks("1"))
	mark := func() string { return w.work(t, "a", template).Annotations[contract.RenderedFromAnnotation] }
	started := func(until ...func()) map[string]int { return w.started(t, "v1", []string{"web"}, until...) }
	rendered := map[string]int{"web": 1}
	g.Expect(started()).To(Equal(rendered))
	g.Expect(mark()).NotTo(BeEmpty())
	g.Expect(w.wrote()).To(Equal([]string{"POST"}))
	g.Expect(started()).To(BeEmpty(), "nothing changed")
	g.Expect(w.wrote()).To(BeEmpty(), "and nothing is written")
	change(t, w, bound, func(q *policyv1alpha1.FederatedResourceQuota) {
		q.Spec.Overall[corev1.ResourceCPU] = resource.MustParse("50")
	})
	g.Expect(started()).To(BeEmpty(), "the amount of a quota does not cause rendering")

	change(t, w, bound, func(q *policyv1alpha1.FederatedResourceQuota) {
		q.Spec.Overall[corev1.ResourceMemory] = resource.MustParse("50Gi")
	})
	old := mark()
	marked := func() { g.Eventually(mark, stagetest.Timeout, stagetest.Poll).ShouldNot(Equal(old)) }
	g.Expect(started(marked)).To(Equal(rendered), "a quota for another resource causes rendering")
	g.Expect(started()).To(BeEmpty(), "the next start renders nothing")

	// The template requests more than was admitted: the Works stay, and are rendered at each start.
	change(t, w, template, func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{"more": "2"}) })
	w.see(t, template, b)
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) {
		less := b.Spec
		less.ReplicaRequirements = &workv1alpha2.ReplicaRequirements{}
		b.Annotations[contract.AdmittedRequestsAnnotation] = quota.Admit(&less)
		asks("1")(b)
		b.Annotations[contract.AdmittedRequestsAnnotation] = quota.Admit(&less)
	})
	before := w.work(t, "a", template)
	for range 2 {
		g.Expect(started()).To(Equal(rendered))
	}
	g.Expect(w.work(t, "a", template).Generation).To(Equal(before.Generation))
	change(t, w, b, asks("1"))
	g.Expect(started()).To(Equal(rendered), "admitted requests cause rendering")
	g.Expect(w.work(t, "a", template).Generation).To(BeNumerically(">", before.Generation))
	g.Expect(started()).To(BeEmpty())

	old = mark()
	g.Expect(w.hub.Delete(t.Context(), bound)).To(Succeed())
	g.Expect(started(marked)).To(Equal(rendered), "the removal of the quota causes rendering")
	g.Expect(started()).To(BeEmpty())
}

// quotaThatBoundsLess has a binding that waits for its quota, and says for which resource.
func quotaThatBoundsLess(t *testing.T, s *stage) {
	t.Helper()
	g, w := NewWithT(t), s.world(t, "a")
	bound := &policyv1alpha1.FederatedResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "q"}}
	bound.Spec.Overall = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100")}
	g.Expect(w.hub.Create(t.Context(), bound)).To(Succeed())
	requests := func(cpu string) *workv1alpha2.ReplicaRequirements {
		return &workv1alpha2.ReplicaRequirements{ResourceRequest: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}}
	}
	template := builder.MakeDeployment(w.namespace, "web").Replicas(2).Set([]any{map[string]any{
		"name": "web", "image": "nginx:1", "resources": map[string]any{"requests": map[string]any{"cpu": "2"}},
	}}, "spec", "template", "spec", "containers").Obj()
	b := w.create(t, template)
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) {
		b.Spec.ReplicaRequirements, b.Spec.Suspension = requests("2"), &workv1alpha2.Suspension{Scheduling: new(true)}
		metav1.SetMetaDataAnnotation(&b.ObjectMeta, contract.AdmittedRequestsAnnotation, quota.Admit(&workv1alpha2.ResourceBindingSpec{ReplicaRequirements: requests("1")}))
		b.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: w.member("a"), Replicas: 2}}
	})
	rendered := func() *metav1.Condition {
		g.Expect(w.hub.Get(t.Context(), client.ObjectKeyFromObject(b), b)).To(Succeed())
		return meta.FindStatusCondition(b.Status.Conditions, workv1alpha2.BindingRendered)
	}
	works := func() []string { return w.works(t, contract.WorkName("Deployment", w.namespace, "web")) }
	waits := And(HaveField("Reason", workv1alpha2.ReasonQuotaExceeded), HaveField("Message", ContainSubstring("spec.suspension.scheduling")))
	g.Eventually(rendered, stagetest.Timeout, stagetest.Poll).Should(waits)
	g.Expect(works()).To(BeEmpty())

	change(t, w, b, func(b *workv1alpha2.ResourceBinding) { b.Spec.SchedulerName, b.Spec.Suspension = "another", nil })
	g.Eventually(rendered, stagetest.Timeout, stagetest.Poll).Should(HaveField("Message", ContainSubstring(`names scheduler "another"`)), "another scheduler does not bypass the quota")
	g.Expect(works()).To(BeEmpty())
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) {
		b.Spec.SchedulerName, b.Spec.Suspension = "", &workv1alpha2.Suspension{Scheduling: new(true)}
	})
	g.Eventually(rendered, stagetest.Timeout, stagetest.Poll).Should(waits)

	change(t, w, bound, func(q *policyv1alpha1.FederatedResourceQuota) {
		q.Spec.Overall = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}
	})
	g.Eventually(works, stagetest.Timeout, stagetest.Poll).Should(Equal([]string{"a"}))
	g.Eventually(rendered, stagetest.Timeout, stagetest.Poll).Should(BeNil())

	change(t, w, bound, func(q *policyv1alpha1.FederatedResourceQuota) {
		q.Spec.Overall = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100")}
	})
	g.Eventually(rendered, stagetest.Timeout, stagetest.Poll).Should(waits)
	g.Expect(w.hub.Delete(t.Context(), bound)).To(Succeed())
	g.Eventually(rendered, stagetest.Timeout, stagetest.Poll).Should(BeNil())
}
