package status

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"k8s.io/apimachinery/pkg/types"
)

func TestHowLongReportsWait(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	registry := prometheus.NewRegistry()
	h := newAggregation(registry)
	g.Expect(newAggregation(registry)).To(BeIdenticalTo(h), "another hub of the process tells by the same")
	a := newAwaited(h)
	start := time.Now()
	one, two := types.NamespacedName{Name: "one"}, types.NamespacedName{Name: "two"}
	a.begin(one, start)
	a.begin(one, start.Add(time.Second))
	a.begin(two, start)
	a.drop(two)
	a.end(two, start.Add(time.Hour))
	a.end(one, start.Add(3*time.Second))
	a.end(one, start.Add(time.Hour))
	var out dto.Metric
	g.Expect(h.Write(&out)).To(Succeed())
	g.Expect(out.GetHistogram().GetSampleCount()).To(BeEquivalentTo(1))
	g.Expect(out.GetHistogram().GetSampleSum()).To(BeNumerically("~", 3, 1e-6))
}
