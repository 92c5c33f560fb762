package monitoring

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"sigs.k8s.io/controller-runtime/pkg/cache"

	"fairlead.dev/hub/people/monitoring/series"
	"fairlead.dev/test/filled"
)

// BenchmarkScrape measures a scrape by Prometheus of a hub on which nothing changes.
func BenchmarkScrape(b *testing.B) {
	for _, size := range []filled.Fleet{{Clusters: 1250, Bindings: 12500}, {Clusters: 5000, Bindings: 50000}} {
		hub := filled.New(b, cache.Options{DefaultTransform: cache.TransformStripManagedFields()}, size.Objects()...)
		clock := clocktesting.NewFakeClock(size.Cluster(0).CreationTimestamp.Time)
		m := &Monitor{
			hubClient: hub.Client, clock: clock, describe: describe(), changes: series.NewTracker[types.NamespacedName](), heard: map[string]heartbeat{},
		}
		if len(m.count()) == 0 { // the first scrape
			b.Fatal("nothing was counted")
		}
		b.Run(fmt.Sprintf("%d", size.Bindings), func(b *testing.B) {
			b.ReportAllocs()
			cpu := filled.ReportCPU(b)
			for b.Loop() {
				clock.Step(2 * keepFor)
				if len(m.count()) == 0 {
					b.Fatal("nothing was counted")
				}
			}
			cpu()
		})
	}
}
