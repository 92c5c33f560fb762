package telemetry

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// Register makes a metric known and returns it, or the one that another hub or agent of this process has registered under its
// name: an agent that starts anew goes on with those that are. Without a registry a metric is counted, and nobody sees it.
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
