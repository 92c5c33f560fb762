package status

import (
	"github.com/prometheus/client_golang/prometheus"

	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"fairlead.dev/common/telemetry"
)

// newReportTime returns the histogram of how long changes in the member take to reach the hub. If another agent in
// this process has registered it, that one is shared.
func newReportTime(registry prometheus.Registerer) prometheus.Histogram {
	if registry == nil {
		registry = metrics.Registry
	}
	return telemetry.Register(registry, prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "fairlead_agent_status_report_seconds",
		Help: "Time from seeing a change of an object in the member until the hub has it in the status of its Work.",
		// 5 ms to 80 s.
		Buckets: prometheus.ExponentialBuckets(0.005, 2.4, 12),
	}))
}
