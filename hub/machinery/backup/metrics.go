package backup

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are the metrics of scheduled backups.
type metrics struct {
	lastSuccess, interval, size, duration, kept prometheus.Gauge
	failures                                    prometheus.Counter
}

func newMetrics() *metrics {
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: "fairlead_hub_backup_" + name, Help: help})
	}
	return &metrics{
		lastSuccess: gauge("last_success_timestamp_seconds", "When the newest scheduled backup was made that is in its directory, of this run of the hub or of an earlier one; 0 if there is none."),
		interval:    gauge("interval_seconds", "How much time there is to be between two scheduled backups."),
		size:        gauge("size_bytes", "Size of the newest scheduled backup that this run of the hub has made."),
		duration:    gauge("duration_seconds", "How long the newest scheduled backup took, with its verification."),
		kept:        gauge("files", "Scheduled backups that are kept."),
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "fairlead_hub_backup_failures_total", Help: "Scheduled backups that could not be made, could not be restored to be verified, or after which old ones could not be deleted.",
		}),
	}
}

// register registers the metrics until unregister is called. Only the leader does, so that sums over several hubs are
// correct.
func (m *metrics) register(registry prometheus.Registerer) (unregister func(), err error) {
	var ours []prometheus.Collector
	unregister = func() {
		for _, c := range ours {
			registry.Unregister(c)
		}
	}
	for _, c := range []prometheus.Collector{m.lastSuccess, m.interval, m.size, m.duration, m.kept, m.failures} {
		switch err := registry.Register(c); {
		case err == nil:
			ours = append(ours, c)
		case !errors.As(err, new(prometheus.AlreadyRegisteredError)): // if they are registered, it is a test with another hub in this process
			return unregister, fmt.Errorf("registering metrics: %w", err)
		}
	}
	return unregister, nil
}
