package integration

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
	"fairlead.dev/test/builder"
)

// containers returns the containers of a Deployment that requests an amount of CPU.
func containers(cpu string) []any {
	return []any{map[string]any{"name": "web", "image": "nginx:1.27", "resources": map[string]any{"requests": map[string]any{"cpu": cpu}}}}
}

// TestRequestsAreHeldByAQuota raises the requests of a running application: by its template and by an override.
func TestRequestsAreHeldByAQuota(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := shared(t)
	ns := s.namespace(t)
	template := builder.MakeDeployment(ns, "web").Replicas(1).Set(containers("100m"), "spec", "template", "spec", "containers").Obj()
	limit := &policyv1alpha1.FederatedResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "all"}}
	limit.Spec.Overall = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("300m")}
	s.create(t, limit, template, builder.MakePolicy(ns, "web").Select("apps/v1", "Deployment", "web").Clusters("edge-1").Obj())
	inMember := func(g Gomega) string {
		got := s.inMember(t, g, "edge-1", template)
		all, _, err := unstructured.NestedSlice(got.Object, "spec", "template", "spec", "containers")
		g.Expect(err).NotTo(HaveOccurred())
		first, ok := all[0].(map[string]any)
		g.Expect(ok).To(BeTrue())
		cpu, _, err := unstructured.NestedString(first, "resources", "requests", "cpu")
		g.Expect(err).NotTo(HaveOccurred())
		return cpu
	}
	hub := s.hub.Client(t)
	condition := func(g Gomega, kind string) string {
		b := &workv1alpha2.ResourceBinding{}
		g.Expect(hub.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: contract.BindingName("Deployment", "web")}, b)).To(Succeed())
		c := meta.FindStatusCondition(b.Status.Conditions, kind)
		if c == nil {
			return ""
		}
		return c.Reason
	}
	used := func(g Gomega) string {
		g.Expect(hub.Get(t.Context(), client.ObjectKeyFromObject(limit), limit)).To(Succeed())
		return limit.Status.OverallUsed.Cpu().String()
	}
	ask := func(cpu string) {
		g.Eventually(func() error {
			if err := hub.Get(t.Context(), client.ObjectKeyFromObject(template), template); err != nil {
				return err
			}
			if err := unstructured.SetNestedSlice(template.Object, containers(cpu), "spec", "template", "spec", "containers"); err != nil {
				return err
			}
			return hub.Update(t.Context(), template)
		}).WithTimeout(waitTimeout).Should(Succeed())
	}
	eventually(t, func(g Gomega) {
		g.Expect(inMember(g)).To(Equal("100m"))
		g.Expect(used(g)).To(Equal("100m"))
	})

	ask("200m")
	eventually(t, func(g Gomega) {
		g.Expect(inMember(g)).To(Equal("200m"), "there is room for that")
		g.Expect(used(g)).To(Equal("200m"))
	})
	ask("400m")
	eventually(t, func(g Gomega) {
		g.Expect(condition(g, workv1alpha2.BindingScheduled)).To(Equal(workv1alpha2.ReasonQuotaExceeded))
	})
	g.Consistently(func(g Gomega) {
		g.Expect(inMember(g)).To(Equal("200m"), "the member keeps what it has")
		g.Expect(used(g)).To(Equal("200m"))
	}).WithTimeout(quiet).WithPolling(poll).Should(Succeed())

	g.Eventually(func() error {
		if err := hub.Get(t.Context(), client.ObjectKeyFromObject(limit), limit); err != nil {
			return err
		}
		limit.Spec.Overall[corev1.ResourceCPU] = resource.MustParse("1")
		return hub.Update(t.Context(), limit)
	}).WithTimeout(waitTimeout).Should(Succeed())
	eventually(t, func(g Gomega) {
		g.Expect(inMember(g)).To(Equal("400m"), "the quota was raised")
		g.Expect(condition(g, workv1alpha2.BindingScheduled)).To(Equal(workv1alpha2.ReasonScheduledSuccess))
		g.Expect(used(g)).To(Equal("400m"))
	})

	// An override that has not been counted.
	override := builder.MakeOverride(ns, "web").Select("apps/v1", "Deployment", "web").
		Replace("edge-1", "/spec/template/spec/containers/0/resources/requests/cpu", "500m").Obj()
	s.create(t, override)
	eventually(t, func(g Gomega) {
		g.Expect(condition(g, workv1alpha2.BindingRendered)).To(Equal(workv1alpha2.ReasonQuotaExceeded))
	})
	g.Expect(inMember(g)).To(Equal("400m"))
	g.Expect(hub.Delete(t.Context(), override)).To(Succeed())
	eventually(t, func(g Gomega) { g.Expect(condition(g, workv1alpha2.BindingRendered)).To(BeEmpty()) })
}
