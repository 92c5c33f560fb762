package binding_test

import (
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/stagetest"
)

// mayUse writes on the namespace which clusters it may use; an empty selector allows all.
func (w *world) mayUse(t *testing.T, text string) {
	t.Helper()
	change(t, w, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}, func(ns *corev1.Namespace) {
		delete(ns.Annotations, contract.ClustersAnnotation)
		if text != "" {
			metav1.SetMetaDataAnnotation(&ns.ObjectMeta, contract.ClustersAnnotation, text)
		}
	})
}

// forbiddenClusters covers bindings that users write directly, and objects that another namespace needs.
func forbiddenClusters(t *testing.T, s *stage) {
	t.Helper()
	g := NewWithT(t)
	// The namespace says so from the beginning: the stage never sees it without that.
	const own = "of=allowance"
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-", Annotations: map[string]string{contract.ClustersAnnotation: own}}}
	g.Expect(s.hub.Create(t.Context(), ns)).To(Succeed())
	w := &world{stage: s, namespace: ns.Name}
	w.join(t, "one")
	w.join(t, "two")
	change(t, w, &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: w.member("one")}}, func(c *clusterv1alpha1.Cluster) {
		metav1.SetMetaDataLabel(&c.ObjectMeta, "of", "allowance")
	})
	said := func(b *workv1alpha2.ResourceBinding) func() string {
		return func() string {
			g.Expect(w.hub.Get(t.Context(), client.ObjectKeyFromObject(b), b)).To(Succeed())
			if c := meta.FindStatusCondition(b.Status.Conditions, workv1alpha2.BindingRendered); c != nil {
				return c.Message
			}
			return ""
		}
	}
	has := func(name string) func() []string { return func() []string { return w.works(t, name) } }
	one, both := []string{"one"}, []string{"one", "two"}

	written := w.create(t, builder.MakeConfigMap(w.namespace, "written").Obj(), "one", "two")
	needed := w.create(t, builder.MakeConfigMap(w.namespace, "needed").Obj())
	another := s.world(t)
	by := another.create(t, builder.MakeDeployment(another.namespace, "web").Obj())
	change(t, w, needed, func(b *workv1alpha2.ResourceBinding) {
		b.Spec.RequiredBy = []workv1alpha2.BindingSnapshot{{Namespace: by.Namespace, Name: by.Name, Clusters: w.shares("one", "two")}}
	})
	for name, b := range map[string]*workv1alpha2.ResourceBinding{"written": written, "needed": needed} {
		g.Eventually(has(name), stagetest.Timeout, stagetest.Poll).Should(Equal(one), name)
		g.Eventually(said(b), stagetest.Timeout, stagetest.Poll).Should(And(
			ContainSubstring("Cluster %q does not get the object: its namespace may not use the cluster", w.member("two")), ContainSubstring(own)), name)
		g.Consistently(has(name), stagetest.Quiet, stagetest.Poll).Should(Equal(one), name)
	}

	w.mayUse(t, "")
	for name, b := range map[string]*workv1alpha2.ResourceBinding{"written": written, "needed": needed} {
		g.Eventually(has(name), stagetest.Timeout, stagetest.Poll).Should(Equal(both), name)
		g.Eventually(said(b), stagetest.Timeout, stagetest.Poll).Should(BeEmpty(), name)
	}
	for _, slip := range []string{"of in", "of=nobody"} {
		w.mayUse(t, slip)
		g.Consistently(has("written"), stagetest.Quiet, stagetest.Poll).Should(Equal(both), slip)
		g.Consistently(has("needed"), stagetest.Quiet, stagetest.Poll).Should(Equal(both), slip)
	}
	w.mayUse(t, own)
	g.Eventually(has("needed"), stagetest.Timeout, stagetest.Poll).Should(ContainElement("two going"), "a Work that only another namespace needs is deleted at once")
	g.Consistently(has("written"), stagetest.Quiet, stagetest.Poll).Should(Equal(both), "the application's own Work stays until the scheduler removes the target")
}
