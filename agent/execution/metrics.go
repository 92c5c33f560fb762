package execution

import (
	"github.com/prometheus/client_golang/prometheus"

	"fairlead.dev/common/telemetry"
)

// metrics of the stage.
type metrics struct {
	applies *prometheus.CounterVec
	drift   prometheus.Counter
	stuck   prometheus.Gauge
	// held counts Works whose deletion the brake holds.
	held prometheus.Gauge
	// unclaimed counts objects that name a Work which does not contain them.
	unclaimed prometheus.Gauge
	// unintended counts Works that were deleted without the hub's intent.
	unintended prometheus.Counter
	// replaced counts objects that were deleted to be created again.
	replaced prometheus.Counter
}

// Values of the label result.
const (
	resultApplied = "applied"
	resultWaiting = "waiting"
	resultRefused = "refused"
)

func newMetrics(registry prometheus.Registerer) *metrics {
	m := &metrics{
		applies: telemetry.Register(registry, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fairlead_agent_execution_applies_total",
			Help: "Objects sent to the member, by result.",
		}, []string{"result"})),
		drift: telemetry.Register(registry, prometheus.NewCounter(prometheus.CounterOpts{
			Name: "fairlead_agent_execution_drift_total",
			Help: "Changes made in the member to objects of Works, which were put back.",
		})),
	}
	m.stuck = telemetry.Register(registry, prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "fairlead_agent_execution_stuck_objects",
		Help: "Objects that were deleted from the member and are held there by finalizers.",
	}))
	m.held = telemetry.Register(registry, prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "fairlead_agent_execution_held_deletions",
		Help: "Works whose deletion is held by the deletion brake of the cluster, until an operator approves.",
	}))
	m.replaced = telemetry.Register(registry, prometheus.NewCounter(prometheus.CounterOpts{
		Name: "fairlead_agent_execution_replaced_total",
		Help: "Objects deleted from the member to be created again, because an immutable field was changed.",
	}))
	m.unintended = telemetry.Register(registry, prometheus.NewCounter(prometheus.CounterOpts{
		Name: "fairlead_agent_execution_unintended_deletions_total",
		Help: "Works that somebody other than the hub deleted, or that went with their namespace; their objects were kept.",
	}))
	m.unclaimed = telemetry.Register(registry, prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "fairlead_agent_execution_unclaimed_objects",
		Help: "Objects in the member that name a Work which the hub does not have, or which no longer has them.",
	}))
	for _, result := range []string{resultApplied, resultWaiting, resultRefused} {
		m.applies.WithLabelValues(result)
	}
	return m
}
