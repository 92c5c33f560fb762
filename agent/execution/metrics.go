package execution

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics of the stage.
type metrics struct {
	applies *prometheus.CounterVec
	drift   prometheus.Counter
}

// Values of the label result.
const (
	resultApplied = "applied"
	resultWaiting = "waiting"
	resultRefused = "refused"
)

func newMetrics(registry prometheus.Registerer) *metrics {
	m := &metrics{
		applies: register(registry, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fairlead_agent_execution_applies_total",
			Help: "Objects sent to the member, by what came of it.",
		}, []string{"result"})),
		drift: register(registry, prometheus.NewCounter(prometheus.CounterOpts{
			Name: "fairlead_agent_execution_drift_total",
			Help: "Changes made in the member to objects of Works, which were put back.",
		})),
	}
	for _, result := range []string{resultApplied, resultWaiting, resultRefused} {
		m.applies.WithLabelValues(result)
	}
	return m
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
