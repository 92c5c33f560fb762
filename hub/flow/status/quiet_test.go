package status

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/interpreter/native"
	"fairlead.dev/hub/flow/status/aggregate"
	"fairlead.dev/test/cluster"
)

// exceeding runs out of time for the report of one cluster, with another message each time.
type exceeding struct {
	interpreter.Interpreter
	asked atomic.Int32
}

func (i *exceeding) AggregateStatus(
	ctx context.Context, template *unstructured.Unstructured, items []workv1alpha2.AggregatedStatusItem,
) (*unstructured.Unstructured, error) {
	n := i.asked.Add(1)
	for at := range items {
		if items[at].Status != nil && strings.Contains(string(items[at].Status.Raw), "lie") {
			return nil, interpreter.Exceeded(fmt.Errorf("it takes too long the %d. time", n))
		}
	}
	return i.Interpreter.AggregateStatus(ctx, template, items)
}

// TestALeftOutReportCostsNothingMore has the rules of a kind use too much for the status of one of two clusters.
func TestALeftOutReportCostsNothingMore(t *testing.T) {
	g := NewWithT(t)
	c := cluster.Shared(t, cluster.Options{Profile: cluster.Hub})
	rules := &exceeding{Interpreter: native.New()}
	s := &stage{client: c.Client(t), namespace: c.Namespace(t), seen: &recorder{}, interpreter: rules}
	s.prefix = s.namespace + "-es-"
	s.open(t, "edge-1", "edge-2", "edge-3")
	s.run(t, c.Config, "v1")
	b := s.binding(t, s.deployment(t), "edge-1", "edge-2")
	honest, liar := s.work(t, b, "edge-1"), s.work(t, b, "edge-2")
	lie := strings.Replace(one, "{", `{"lie":1,`, 1)
	s.report(t, honest, b, "", one)
	s.report(t, liar, b, "", lie)
	marked := func() {
		t.Helper()
		s.eventually(t, b, func(g Gomega, status *workv1alpha2.ResourceBindingStatus) {
			g.Expect(status.AggregatedStatus).To(HaveLen(2))
			g.Expect(aggregate.IsLeftOut(&status.AggregatedStatus[1])).To(BeTrue())
			g.Expect(s.client.Get(t.Context(), client.ObjectKeyFromObject(liar), liar)).To(Succeed())
			g.Expect(meta.IsStatusConditionTrue(liar.Status.Conditions, workv1alpha1.WorkStatusLeftOut)).To(BeTrue())
		})
		s.settle(t)
	}
	works := func() int {
		return s.seen.count(s.prefix+"edge-1/works/"+b.Name+"/status") + s.seen.count(s.prefix+"edge-2/works/"+b.Name+"/status")
	}
	written := func() int {
		return works() + s.seen.count(s.namespace+"/resourcebindings/"+b.Name+"/status") + s.seen.count(s.namespace+"/deployments/web/status")
	}
	marked()
	asked, before := rules.asked.Load(), written()
	s.settle(t)
	g.Expect(rules.asked.Load()).To(Equal(asked), "that the Work says so is no news")
	g.Expect(written()).To(Equal(before))

	// A report of the other cluster starts no search.
	marks := works()
	s.report(t, honest, b, "", strings.ReplaceAll(one, `Replicas":2`, `Replicas":1`))
	s.eventually(t, b, func(g Gomega, status *workv1alpha2.ResourceBindingStatus) {
		g.Expect(string(status.AggregatedStatus[0].Status.Raw)).To(ContainSubstring(`Replicas":1`))
	})
	s.settle(t)
	g.Expect(rules.asked.Load()).To(Equal(asked+1), "it is added up once")
	g.Expect(works()).To(Equal(marks))

	// A different bad report is searched for, and tried first.
	asked = rules.asked.Load()
	s.report(t, liar, b, "", strings.Replace(lie, "lie", "lies", 1))
	marked()
	g.Expect(rules.asked.Load()).To(BeNumerically("<=", asked+8))

	s.report(t, liar, b, "", one)
	s.eventually(t, b, func(g Gomega, status *workv1alpha2.ResourceBindingStatus) {
		g.Expect(status.AggregatedStatus[1].Status).NotTo(BeNil())
	})
}
