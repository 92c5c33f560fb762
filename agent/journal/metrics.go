package journal

import (
	"github.com/prometheus/client_golang/prometheus"

	"fairlead.dev/common/telemetry"
)

// metrics are the journal's metrics.
type metrics struct {
	works   prometheus.Gauge
	failing prometheus.Gauge
	aside   prometheus.Counter
}

func newMetrics(registry prometheus.Registerer) *metrics {
	return &metrics{
		works: telemetry.Register(registry, prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "fairlead_agent_journal_works",
			Help: "Works that the journal has on disk.",
		})),
		failing: telemetry.Register(registry, prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "fairlead_agent_journal_failing",
			Help: "1 if the journal cannot be written, 0 if it can.",
		})),
		aside: telemetry.Register(registry, prometheus.NewCounter(prometheus.CounterOpts{
			Name: "fairlead_agent_journal_set_aside_total",
			Help: "Files of the journal that could not be used: damaged, or not of this agent.",
		})),
	}
}
