package status

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/test/cluster"
)

// TestReportsWithoutRoomInTheBindingAreAddedUp has three clusters report more than a binding can hold. The status of the template is
// that of all of them, and follows also those that the binding does not show.
func TestReportsWithoutRoomInTheBindingAreAddedUp(t *testing.T) {
	g := NewWithT(t)
	c := cluster.Shared(t, cluster.Options{Profile: cluster.Hub})
	s := &stage{client: c.Client(t), namespace: c.Namespace(t), seen: &recorder{}}
	s.prefix = s.namespace + "-es-"
	s.open(t, "edge-1", "edge-2", "edge-3")
	s.run(t, c.Config, "v1")
	template := s.deployment(t)
	b := s.binding(t, template, "edge-1", "edge-2", "edge-3")
	fingerprint := `{"metadata":{"annotations":{"` + contract.TemplateFingerprintAnnotation + `":"` + bindings.MadeOf(template, "") + `"}}}`
	g.Expect(s.client.Patch(t.Context(), b, client.RawPatch(types.MergePatchType, []byte(fingerprint)))).To(Succeed())
	large := func(of string) string {
		return strings.Replace(of, "{", `{"note":"`+strings.Repeat("x", 200_000)+`",`, 1)
	}
	ready := func(want int64) {
		t.Helper()
		s.awaitReady(t, template, want)
	}

	unshown := s.work(t, b, "edge-1")
	s.report(t, unshown, b, "", large(one))
	s.report(t, s.work(t, b, "edge-2"), b, "", large(one))
	s.report(t, s.work(t, b, "edge-3"), b, "", large(one))
	s.eventually(t, b, fullyApplied(metav1.ConditionTrue))
	ready(6)
	s.eventually(t, b, func(g Gomega, status *workv1alpha2.ResourceBindingStatus) {
		g.Expect(status.AggregatedStatus).To(HaveLen(3))
		g.Expect(status.AggregatedStatus[0].Status).To(BeNil())
		g.Expect(status.AggregatedStatus[0].AppliedMessage).To(ContainSubstring("too large to be shown here"))
		g.Expect(status.TemplateStatusOf).NotTo(BeEmpty())
	})

	g.Expect(s.client.Get(t.Context(), client.ObjectKeyFromObject(unshown), unshown)).To(Succeed())
	s.report(t, unshown, b, "", large(strings.ReplaceAll(one, `Replicas":2`, `Replicas":1`)))
	ready(5)

	// Nothing is written again without a change.
	s.settle(t)
	written := func() int {
		return s.seen.count(s.namespace+"/resourcebindings/web-deployment/status") + s.seen.count(s.namespace+"/deployments/web/status")
	}
	before := written()
	unshown.Status.Conditions[0].Message = "said otherwise"
	g.Expect(s.client.Status().Update(t.Context(), unshown)).To(Succeed())
	s.settle(t)
	g.Expect(written()).To(Equal(before))
}
