package status

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/common/telemetry"
)

// newAggregation is how long reports take until people see them. The histogram is the one
// that another hub of this process has registered, if there is one.
func newAggregation(registry prometheus.Registerer) prometheus.Histogram {
	return telemetry.Register(registry, prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "fairlead_hub_status_aggregation_seconds",
		Help: "From a cluster's report on a Work arriving at the hub until the status of binding and template say it. With fairlead_agent_status_report_seconds it makes up the time from a change in a member to the template's status.",
		// 10 ms to 60 s.
		Buckets: prometheus.ExponentialBuckets(0.01, 2.2, 12),
	}))
}

// awaited is since when reports wait to be seen.
type awaited struct {
	mu    sync.Mutex
	since map[types.NamespacedName]time.Time
	took  prometheus.Observer
}

func newAwaited(took prometheus.Observer) *awaited {
	return &awaited{since: map[types.NamespacedName]time.Time{}, took: took}
}

// begin says that a report on a binding is here. Of several the first counts.
func (a *awaited) begin(key types.NamespacedName, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.since[key]; !ok {
		a.since[key] = now
	}
}

// end says that all reports on a binding are seen.
func (a *awaited) end(key types.NamespacedName, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if since, ok := a.since[key]; ok {
		a.took.Observe(now.Sub(since).Seconds())
		delete(a.since, key)
	}
}

// drop says that the reports on a binding said nothing new.
func (a *awaited) drop(key types.NamespacedName) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.since, key)
}
