package status

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/common/telemetry"
)

// newAggregation returns the histogram of how long a report takes to show in the statuses of binding and template. If another hub in this
// process has registered the histogram, it returns that one.
func newAggregation(registry prometheus.Registerer) prometheus.Histogram {
	return telemetry.Register(registry, prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "fairlead_hub_status_aggregation_seconds",
		Help: "From a cluster's report on a Work arriving at the hub until the status of binding and template say it. With fairlead_agent_status_report_seconds it makes up the time from a change in a member to the template's status.",
		// 10 ms to 60 s.
		Buckets: prometheus.ExponentialBuckets(0.01, 2.2, 12),
	}))
}

// awaited records since when the reports on each binding have waited to be aggregated.
type awaited struct {
	mu    sync.Mutex
	since map[types.NamespacedName]time.Time
	took  prometheus.Observer
}

func newAwaited(took prometheus.Observer) *awaited {
	return &awaited{since: map[types.NamespacedName]time.Time{}, took: took}
}

// begin records the arrival of a report on a binding. The earliest one counts.
func (a *awaited) begin(key types.NamespacedName, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.since[key]; !ok {
		a.since[key] = now
	}
}

// end observes the wait of a binding's reports, which are aggregated now.
func (a *awaited) end(key types.NamespacedName, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if since, ok := a.since[key]; ok {
		a.took.Observe(now.Sub(since).Seconds())
		delete(a.since, key)
	}
}

// drop forgets reports on a binding that changed nothing.
func (a *awaited) drop(key types.NamespacedName) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.since, key)
}
