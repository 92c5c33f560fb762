package connect

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// Values of the label result.
const (
	resultOpened  = "opened"
	resultRefused = "refused"
	resultFailed  = "failed"
)

// metrics of the stage.
type metrics struct {
	up      prometheus.Gauge
	opens   *prometheus.CounterVec
	streams prometheus.Gauge
}

func newMetrics(registry prometheus.Registerer) *metrics {
	m := &metrics{
		up: register(registry, prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "fairlead_agent_connect_line_up",
			Help: "Whether the agent has a line to the hub open, over which operators reach the member.",
		})),
		opens: register(registry, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fairlead_agent_connect_opens_total",
			Help: "Tries to open a line to the hub, by what came of it.",
		}, []string{"result"})),
		streams: register(registry, prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "fairlead_agent_connect_streams",
			Help: "Requests of the hub and its operators that the agent is answering.",
		})),
	}
	for _, result := range []string{resultOpened, resultRefused, resultFailed} {
		m.opens.WithLabelValues(result)
	}
	return m
}

// register makes a metric known. An agent that starts anew within its process goes on with those that are.
func register[C prometheus.Collector](registry prometheus.Registerer, c C) C {
	if registry == nil {
		return c
	}
	if known, ok := errors.AsType[prometheus.AlreadyRegisteredError](registry.Register(c)); ok {
		if same, ok := known.ExistingCollector.(C); ok {
			return same
		}
	}
	return c
}
