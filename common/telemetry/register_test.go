package telemetry_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"fairlead.dev/common/telemetry"
)

func counter() prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Name: "restarts_total", Help: "Restarts."})
}

// value returns the value of a counter.
func value(g Gomega, c prometheus.Counter) float64 {
	out := &dto.Metric{}
	g.Expect(c.Write(out)).To(Succeed())
	return out.GetCounter().GetValue()
}

func TestWhoRegistersTwiceCountsTogether(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	registry := prometheus.NewPedanticRegistry()
	telemetry.Register(registry, counter()).Inc()
	again := telemetry.Register(registry, counter())
	again.Inc()
	g.Expect(value(g, again)).To(BeEquivalentTo(2))
	families, err := registry.Gather()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(families).To(HaveLen(1))
	g.Expect(families[0].GetMetric()[0].GetCounter().GetValue()).To(BeEquivalentTo(2))
}

func TestWithoutARegistryAMetricIsCountedAlone(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for range 2 {
		one := telemetry.Register(nil, counter())
		one.Inc()
		g.Expect(value(g, one)).To(BeEquivalentTo(1))
	}
}
