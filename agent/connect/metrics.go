package connect

import (
	"github.com/prometheus/client_golang/prometheus"

	"fairlead.dev/common/telemetry"
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
		up: telemetry.Register(registry, prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "fairlead_agent_connect_line_up",
			Help: "Whether the agent has a line to the hub open, over which operators reach the member.",
		})),
		opens: telemetry.Register(registry, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fairlead_agent_connect_opens_total",
			Help: "Attempts to open a line to the hub, by result.",
		}, []string{"result"})),
		streams: telemetry.Register(registry, prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "fairlead_agent_connect_streams",
			Help: "Requests of the hub and its operators that the agent is answering.",
		})),
	}
	for _, result := range []string{resultOpened, resultRefused, resultFailed} {
		m.opens.WithLabelValues(result)
	}
	return m
}
