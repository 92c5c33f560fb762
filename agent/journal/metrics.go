package journal

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics of the journal.
type metrics struct {
	works   prometheus.Gauge
	failing prometheus.Gauge
	aside   prometheus.Counter
}

func newMetrics(registry prometheus.Registerer) *metrics {
	return &metrics{
		works: register(registry, prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "fairlead_agent_journal_works",
			Help: "Works that the journal has on disk.",
		})),
		failing: register(registry, prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "fairlead_agent_journal_failing",
			Help: "1 if the journal cannot be written, 0 if it can.",
		})),
		aside: register(registry, prometheus.NewCounter(prometheus.CounterOpts{
			Name: "fairlead_agent_journal_set_aside_total",
			Help: "Files of the journal that could not be used: torn, or none of ours.",
		})),
	}
}

// register returns the collector, or the one that another agent in this process has
// registered under its name.
func register[C prometheus.Collector](registry prometheus.Registerer, collector C) C {
	err := registry.Register(collector)
	if twice, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); ok {
		if existing, ok := twice.ExistingCollector.(C); ok {
			return existing
		}
	}
	return collector
}
