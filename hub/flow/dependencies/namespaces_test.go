package dependencies_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/flow/dependencies"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/stagetest"
)

func TestNamespaceFollowsItsObjects(t *testing.T) {
	w := start(t)
	g := NewWithT(t)
	name := w.namespace + "-namespace"
	where := w.attached(t, "", name)
	for _, edge := range []string{"edge-1", "edge-2"} {
		c := builder.MakeCluster(edge).Obj()
		g.Expect(w.hub.Create(t.Context(), c)).To(Succeed())
		t.Cleanup(func() { g.Expect(client.IgnoreNotFound(w.hub.Delete(context.Background(), c))).To(Succeed()) })
	}
	_, b := w.deployment(t, "web")
	everything := func(clusters ...string) map[string][]string { return map[string][]string{"": clusters} }
	g.Eventually(where, stagetest.Timeout, stagetest.Poll).Should(Equal(everything("edge-1")))
	crb := &workv1alpha2.ClusterResourceBinding{}
	g.Expect(w.hub.Get(t.Context(), types.NamespacedName{Name: name}, crb)).To(Succeed())
	g.Expect(crb.Spec.Resource.Name).To(Equal(w.namespace))
	g.Expect(crb.OwnerReferences).To(HaveLen(1), "the namespace is the only owner")

	change(t, w, b, func(b *workv1alpha2.ResourceBinding) {
		b.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: "edge-2"}}
	})
	g.Eventually(where, stagetest.Timeout, stagetest.Poll).Should(Equal(everything("edge-1", "edge-2")), "the namespace leaves no cluster")

	g.Expect(w.hub.Delete(t.Context(), builder.MakeCluster("edge-1").Obj())).To(Succeed())
	g.Eventually(where, stagetest.Timeout, stagetest.Poll).Should(Equal(everything("edge-2")), "a deleted cluster is removed")

	// New labels of the namespace are propagated, too.
	before := crb.Spec.Resource.ResourceVersion
	change(t, w, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}, func(ns *corev1.Namespace) { ns.Labels["team"] = "shop" })
	g.Eventually(func() string {
		g.Expect(w.hub.Get(t.Context(), types.NamespacedName{Name: name}, crb)).To(Succeed())
		return crb.Spec.Resource.ResourceVersion
	}, stagetest.Timeout, stagetest.Poll).ShouldNot(Equal(before))

	g.Expect(w.hub.Delete(t.Context(), crb)).To(Succeed())
	g.Expect(w.hub.Patch(t.Context(), crb, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))).To(Succeed())
	g.Eventually(where, stagetest.Timeout, stagetest.Poll).Should(Equal(everything("edge-2")), "a deleted binding is created again")

	g.Expect(w.hub.Delete(t.Context(), b)).To(Succeed())
	g.Consistently(where, stagetest.Quiet, stagetest.Poll).Should(Equal(everything("edge-2")))
}

func TestNamespaceFollowsItsQuotaParts(t *testing.T) {
	w := start(t)
	g := NewWithT(t)
	where := w.attached(t, "", w.namespace+"-namespace")
	there, late := w.namespace+"-there", w.namespace+"-late"
	g.Expect(w.hub.Create(t.Context(), builder.MakeCluster(there).Obj())).To(Succeed())
	quota := &policyv1alpha1.FederatedResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "fair"}}
	hard := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	quota.Spec.Overall = hard
	for _, name := range []string{there, late} {
		quota.Spec.StaticAssignments = append(quota.Spec.StaticAssignments, policyv1alpha1.StaticClusterAssignment{ClusterName: name, Hard: hard})
	}
	g.Expect(w.hub.Create(t.Context(), quota)).To(Succeed())
	g.Eventually(where, stagetest.Timeout, stagetest.Poll).Should(Equal(map[string][]string{"": {there}}), "a cluster that does not exist is left out")
	g.Expect(w.hub.Create(t.Context(), builder.MakeCluster(late).Obj())).To(Succeed())
	g.Eventually(where, stagetest.Timeout, stagetest.Poll).Should(Equal(map[string][]string{"": {late, there}}))
}

func TestSkippedNamespaceStaysOnTheHub(t *testing.T) {
	w := start(t)
	g := NewWithT(t)
	ns := w.labelled(t)
	skipped := &world{hub: w.hub, namespace: ns.Name}
	skipped.deployment(t, "web")
	where := skipped.attached(t, "", ns.Name+"-namespace")
	g.Consistently(where, stagetest.Quiet, stagetest.Poll).Should(BeNil())
	change(t, w, ns, func(ns *corev1.Namespace) { delete(ns.Labels, contract.SkipAutoPropagationLabel) })
	g.Eventually(where, stagetest.Timeout, stagetest.Poll).Should(HaveKey(""))
}

// labelled makes a namespace that has the label with which it stays from the beginning: the stage never sees it without.
func (w *world) labelled(t *testing.T) *corev1.Namespace {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: w.namespace + "-", Labels: map[string]string{contract.SkipAutoPropagationLabel: "True"},
	}}
	w.create(t, ns)
	return ns
}

func TestEveryNamespaceGoesToEveryCluster(t *testing.T) {
	w := start(t, func(d *dependencies.Deps) { d.AllNamespaces = true })
	g := NewWithT(t)
	ns := w.labelled(t)
	first, late := w.namespace+"-first", w.namespace+"-late"
	here := func() []string { return w.attached(t, "", w.namespace+"-namespace")()[""] }
	g.Expect(w.hub.Create(t.Context(), builder.MakeCluster(first).Obj())).To(Succeed())
	g.Eventually(here, stagetest.Timeout, stagetest.Poll).Should(ContainElement(first), "an empty namespace goes to every cluster")
	g.Expect(w.hub.Create(t.Context(), builder.MakeCluster(late).Obj())).To(Succeed())
	g.Eventually(here, stagetest.Timeout, stagetest.Poll).Should(ContainElements(first, late))

	added := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: w.namespace + "-"}}
	g.Expect(w.hub.Create(t.Context(), added)).To(Succeed())
	g.Eventually(func() []string { return w.attached(t, "", added.Name+"-namespace")()[""] }, stagetest.Timeout, stagetest.Poll).Should(ContainElements(first, late))
	for _, kept := range []string{ns.Name, "default", "kube-system"} {
		g.Expect(w.attached(t, "", kept+"-namespace")()).To(BeNil(), kept)
	}
}

// TestNamespaceFollowsItsQuotaAfterStart creates everything before the hub starts.
func TestNamespaceFollowsItsQuotaAfterStart(t *testing.T) {
	w := start(t)
	g := NewWithT(t)
	w.end()
	there := w.namespace + "-there"
	g.Expect(w.hub.Create(t.Context(), builder.MakeCluster(there).Obj())).To(Succeed())
	quota := &policyv1alpha1.FederatedResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "fair"}}
	quota.Spec.Overall = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	quota.Spec.StaticAssignments = []policyv1alpha1.StaticClusterAssignment{{ClusterName: there, Hard: quota.Spec.Overall}}
	g.Expect(w.hub.Create(t.Context(), quota)).To(Succeed())

	w.behind(t, "", func(*cache.Options) {})
	g.Eventually(w.attached(t, "", w.namespace+"-namespace"), stagetest.Timeout, stagetest.Poll).Should(Equal(map[string][]string{"": {there}}))
}
