package telemetry

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// Register registers a metric and returns it, or the one of the same name that another hub or agent of this process
// has registered: an agent that restarts within the process continues with the existing metrics. Without a registry
// the metric works but is not exported.
func Register[C prometheus.Collector](registry prometheus.Registerer, metric C) C {
	if registry == nil {
		return metric
	}
	if twice, ok := errors.AsType[prometheus.AlreadyRegisteredError](registry.Register(metric)); ok {
		if existing, ok := twice.ExistingCollector.(C); ok {
			return existing
		}
	}
	return metric
}
