package status

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

// TestALyingClusterHurtsItselfOnly has one of two clusters report a status that no client decodes, and then one that makes the aggregated
// status invalid.
func TestALyingClusterHurtsItselfOnly(t *testing.T) {
	s := start(t)
	g := NewWithT(t)
	template := s.deployment(t)
	b := s.binding(t, template, "edge-1", "edge-2")
	honest, liar := s.work(t, b, "edge-1"), s.work(t, b, "edge-2")
	s.report(t, honest, b, "", one)
	s.report(t, liar, b, "", one)
	s.eventually(t, b, fullyApplied(metav1.ConditionTrue))
	ready := func(want int64) {
		t.Helper()
		s.awaitReady(t, template, want)
	}
	named := func(why string) {
		t.Helper()
		s.eventually(t, b, func(g Gomega, status *workv1alpha2.ResourceBindingStatus) {
			g.Expect(status.AggregatedStatus).To(HaveLen(2))
			g.Expect(status.AggregatedStatus[0].Status).NotTo(BeNil(), "the other cluster is shown as ever")
			g.Expect(status.AggregatedStatus[1].Status).To(BeNil())
			g.Expect(status.AggregatedStatus[1].AppliedMessage).To(ContainSubstring(why))
		})
		g.Eventually(func() []string { return s.seen.events.Notes(reasonStatusLeftOut) }, "1m", "50ms").
			Should(ContainElement(And(HavePrefix("Cluster edge-2: "), ContainSubstring(why))))
		g.Eventually(func(g Gomega) {
			work := &metav1.PartialObjectMetadata{}
			work.SetGroupVersionKind(workv1alpha1.GroupVersion.WithKind("Work"))
			g.Expect(s.client.Get(t.Context(), client.ObjectKeyFromObject(liar), work)).To(Succeed())
			read := &workv1alpha1.Work{}
			g.Expect(s.client.Get(t.Context(), client.ObjectKeyFromObject(liar), read)).To(Succeed())
			c := meta.FindStatusCondition(read.Status.Conditions, workv1alpha1.WorkStatusLeftOut)
			g.Expect(c).NotTo(BeNil())
			g.Expect(c.Message).To(ContainSubstring(why))
		}, "1m", "50ms").Should(Succeed())
	}
	again := func() {
		g.Expect(s.client.Get(t.Context(), client.ObjectKeyFromObject(liar), liar)).To(Succeed())
	}

	// A list of Works is nested two levels deeper than a Work, which the server may accept when it does not accept the list.
	again()
	s.report(t, liar, b, "", strings.Repeat(`{"a":`, 9_995)+"1"+strings.Repeat("}", 9_995))
	g.Expect(s.client.List(t.Context(), &workv1alpha1.WorkList{}, client.InNamespace(liar.Namespace))).NotTo(Succeed(), "nobody else can read it")
	named("nested more than 64 levels deep")
	ready(2)
	s.report(t, honest, b, "", strings.ReplaceAll(one, "2", "3"))
	ready(3)

	again()
	s.report(t, liar, b, "", `{"replicas":2,"readyReplicas":-9,"observedGeneration":1,"generation":1,"resourceTemplateGeneration":1}`)
	named("is not valid")
	ready(3)
	s.report(t, honest, b, "", one)
	ready(2)

	// No event quotes the API server's message, which may contain passwords of the template.
	for _, e := range s.seen.events.All() {
		g.Expect(e.Note).NotTo(ContainSubstring("Invalid value"))
	}

	again()
	s.report(t, liar, b, "", one)
	ready(4)
	g.Eventually(func(g Gomega) {
		again()
		g.Expect(meta.FindStatusCondition(liar.Status.Conditions, workv1alpha1.WorkStatusLeftOut)).To(BeNil())
	}, "1m", "50ms").Should(Succeed())
}
