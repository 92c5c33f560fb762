package binding_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/override"
	"fairlead.dev/common/revision"
	"fairlead.dev/test/stagetest"
)

func aSpoiltWork(t *testing.T, s *stage) {
	t.Helper()
	g := NewWithT(t)
	w, web, _, _ := twoWaves(t, s)
	for _, member := range []string{"a", "b"} {
		change(t, w, w.work(t, member, web), func(work *workv1alpha1.Work) {
			work.Spec.Workload.Manifests[0].Raw = []byte(strings.ReplaceAll(string(work.Spec.Workload.Manifests[0].Raw), "nginx:", "evil:"))
		})
	}
	g.Eventually(func() map[string]string { return w.has(t, web, "a", "b") }, stagetest.Timeout, stagetest.Poll).Should(Equal(map[string]string{"a": "nginx:2 r2", "b": "nginx:1.27 r1"}))
	// Somebody removes the revision from a Work. Its content is not known then, and it waits for its wave.
	change(t, w, w.work(t, "b", web), func(work *workv1alpha1.Work) { delete(work.Annotations, contract.RevisionAnnotation) })
	g.Consistently(func() map[string]string { return w.has(t, web, "b") }, stagetest.Quiet, stagetest.Poll).Should(HaveKeyWithValue("b", HavePrefix("nginx:1.27")))
}

func aPurgedCopy(t *testing.T, s *stage) {
	t.Helper()
	g := NewWithT(t)
	w, web, b, _ := twoWaves(t, s, "c")
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) {
		b.Spec.Placement = &policyv1alpha1.Placement{ReplicaScheduling: &policyv1alpha1.ReplicaSchedulingStrategy{ReplicaSchedulingType: policyv1alpha1.Divided}}
		b.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: w.member("a"), Replicas: 1}, {Name: w.member("c"), Replicas: 1}}
		b.Spec.GracefulEvictionTasks = []workv1alpha2.GracefulEvictionTask{{
			FromCluster: w.member("b"), PurgeMode: policyv1alpha1.PurgeDirectly, Replicas: new(int32(1)), Reason: "TaintUntolerated", Producer: "test",
		}}
	})
	g.Eventually(func() []string { return w.works(t, "web-") }, stagetest.Timeout, stagetest.Poll).Should(Equal([]string{"a", "b going"}))
	w.release(t, w.work(t, "b", web))
	g.Eventually(func() map[string]string { return w.has(t, web, "a", "c") }, stagetest.Timeout, stagetest.Poll).Should(Equal(map[string]string{"a": "nginx:2 r2", "c": "nginx:1.27 r1"}))
}

func aQuotaForAnOldRevision(t *testing.T, s *stage) {
	t.Helper()
	g := NewWithT(t)
	w, web, b, r := twoWaves(t, s)
	requests := func(cpu string) {
		w.edit(t, web, b, func(o *unstructured.Unstructured) {
			containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
			container, _ := containers[0].(map[string]any)
			container["resources"] = map[string]any{"requests": map[string]any{"cpu": cpu}}
			g.Expect(unstructured.SetNestedSlice(o.Object, containers, "spec", "template", "spec", "containers")).To(Succeed())
		})
		change(t, w, b, func(b *workv1alpha2.ResourceBinding) {
			b.Spec.ReplicaRequirements = &workv1alpha2.ReplicaRequirements{ResourceRequest: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}}
		})
	}
	requests("2")
	r.says(t, 3, nil, r.cut(t, 3, "Edited", w.source(t, web, b)))
	g.Eventually(func() map[string]string { return w.has(t, web, "a", "b") }, stagetest.Timeout, stagetest.Poll).Should(Equal(map[string]string{"a": "nginx:2 r3", "b": "nginx:2 r3"}))
	g.Expect(w.hub.Create(t.Context(), &policyv1alpha1.FederatedResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "q"},
		Spec:       policyv1alpha1.FederatedResourceQuotaSpec{Overall: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100")}},
	})).To(Succeed())
	requests("1")
	r.says(t, 3, map[string]int64{"a": 4}, r.cut(t, 4, "Edited", w.source(t, web, b)))
	g.Eventually(func() map[string]string { return w.has(t, web, "a") }, stagetest.Timeout, stagetest.Poll).Should(HaveKeyWithValue("a", "nginx:2 r4"))
	// The old revision requests more than the template does now: b keeps its content, and does not grow.
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) { b.Spec.Clusters[1].Replicas = 9 })
	g.Consistently(func() map[string]string { return w.has(t, web, "b") }, stagetest.Quiet, stagetest.Poll).Should(HaveKeyWithValue("b", "nginx:2 r3"))
	g.Expect(manifest(t, w.work(t, "b", web), "spec", "replicas")).To(BeEquivalentTo(2))
}

func aContentThatCannotBeRead(t *testing.T, s *stage) {
	t.Helper()
	g := NewWithT(t)
	w, web, b, r := twoWaves(t, s)
	w.edit(t, web, b, image("nginx:3"))
	r3 := r.cut(t, 3, "Edited", w.source(t, web, b))
	// A user who may write Secrets there replaces the kept content.
	name := client.ObjectKey{Namespace: w.namespace, Name: revision.SecretName(r.obj, 3)}
	secret := &corev1.Secret{}
	g.Expect(w.hub.Get(t.Context(), name, secret)).To(Succeed())
	whole := secret.Data[revision.SecretKey]
	w.edit(t, web, b, image("evil:1"))
	content, err := revision.Make(w.source(t, web, b))
	g.Expect(err).NotTo(HaveOccurred())
	secret.Data[revision.SecretKey], err = revision.Encode(&revision.Kept{Content: content})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(w.hub.Update(t.Context(), secret)).To(Succeed())
	r.says(t, 1, map[string]int64{"a": 3}, r3)
	condition := func() *metav1.Condition {
		g.Expect(w.hub.Get(t.Context(), client.ObjectKeyFromObject(b), b)).To(Succeed())
		return meta.FindStatusCondition(b.Status.Conditions, workv1alpha2.BindingRendered)
	}
	g.Eventually(condition, stagetest.Timeout, stagetest.Poll).Should(HaveField("Message", And(ContainSubstring("revision 3"), ContainSubstring("cannot be read"))))
	g.Consistently(func() map[string]string { return w.has(t, web, "a", "b") }, stagetest.Quiet, stagetest.Poll).Should(Equal(map[string]string{"a": "nginx:2 r2", "b": "nginx:1.27 r1"}))
	// Replicas are still scaled, in the present content.
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) {
		b.Spec.Clusters[0].Replicas, b.Spec.Clusters[1].Replicas, b.Spec.Replicas = 7, 7, 7
	})
	for _, member := range []string{"a", "b"} {
		g.Eventually(func() any { return manifest(t, w.work(t, member, web), "spec", "replicas") }, stagetest.Timeout, stagetest.Poll).Should(BeEquivalentTo(7))
	}
	g.Expect(w.has(t, web, "a", "b")).To(Equal(map[string]string{"a": "nginx:2 r2", "b": "nginx:1.27 r1"}))
	// Once the content is back, the rollout proceeds by itself.
	g.Expect(w.hub.Get(t.Context(), name, secret)).To(Succeed())
	secret.Data[revision.SecretKey] = whole
	g.Expect(w.hub.Update(t.Context(), secret)).To(Succeed())
	g.Eventually(func() map[string]string { return w.has(t, web, "a", "b") }, 3*stagetest.Timeout, stagetest.Poll).Should(Equal(map[string]string{"a": "nginx:3 r3", "b": "nginx:1.27 r1"}))
	g.Eventually(condition, stagetest.Timeout, stagetest.Poll).Should(BeNil())
}

// aContentWithoutItsRules loses the Secret with the rules of a ClusterOverridePolicy. Content that is rendered without them is not what was
// rolled out.
func aContentWithoutItsRules(t *testing.T, s *stage) {
	t.Helper()
	g := NewWithT(t)
	w, web, b, r := twoWaves(t, s)
	_ = w.hub.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: contract.ClusterNamespace}}) // another test may have created it
	w.edit(t, web, b, image("nginx:3"))
	source := w.source(t, web, b)
	source.Rules = []override.Rule{{Policy: "proxy", Overriders: policyv1alpha1.Overriders{ImageOverrider: []policyv1alpha1.ImageOverrider{
		{Component: policyv1alpha1.ImageTag, Operator: policyv1alpha1.OverrideReplace, Value: "proxied"},
	}}}}
	r3 := r.cut(t, 3, "Edited", source)
	rules := &corev1.Secret{}
	g.Expect(w.hub.Get(t.Context(), client.ObjectKey{Namespace: contract.ClusterNamespace, Name: revision.RulesName(r.obj, 3)}, rules)).To(Succeed())
	g.Expect(w.hub.Delete(t.Context(), rules)).To(Succeed())
	r.says(t, 1, map[string]int64{"a": 3}, r3)
	condition := func() *metav1.Condition {
		g.Expect(w.hub.Get(t.Context(), client.ObjectKeyFromObject(b), b)).To(Succeed())
		return meta.FindStatusCondition(b.Status.Conditions, workv1alpha2.BindingRendered)
	}
	g.Eventually(condition, stagetest.Timeout, stagetest.Poll).Should(HaveField("Message", ContainSubstring("the rules of ClusterOverridePolicies in r3 are lost")))
	g.Consistently(func() map[string]string { return w.has(t, web, "a", "b") }, stagetest.Quiet, stagetest.Poll).Should(Equal(map[string]string{"a": "nginx:2 r2", "b": "nginx:1.27 r1"}))
	// Once the rules are back, the rollout proceeds by itself.
	rules.UID, rules.ResourceVersion = "", ""
	g.Expect(w.hub.Create(t.Context(), rules)).To(Succeed())
	g.Eventually(func() map[string]string { return w.has(t, web, "a", "b") }, 3*stagetest.Timeout, stagetest.Poll).Should(Equal(map[string]string{"a": "nginx:proxied r3", "b": "nginx:1.27 r1"}))
	g.Eventually(condition, stagetest.Timeout, stagetest.Poll).Should(BeNil())
}
