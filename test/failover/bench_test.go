package failover

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/test/cluster"
	"fairlead.dev/test/fleet"
)

// BenchmarkALostClusterIsUnknown measures, with default settings, the time from the death of an agent until the hub
// reports its cluster as Unknown.
func BenchmarkALostClusterIsUnknown(b *testing.B) {
	g, ctx := NewWithT(b), b.Context()
	root, err := cluster.Root()
	g.Expect(err).NotTo(HaveOccurred())
	f, err := fleet.New(fleet.Options{Bin: filepath.Join(root, "bin"), Dir: b.TempDir(), Clusters: 2, Nodes: 1})
	g.Expect(err).NotTo(HaveOccurred())
	b.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
		defer cancel()
		if err := f.Down(ctx); err != nil {
			b.Error(err)
		}
	})
	g.Expect(f.Up(ctx)).To(Succeed())
	hub, err := f.Client(fleet.HubName)
	g.Expect(err).NotTo(HaveOccurred())
	w := &world{Fleet: f, g: g, hub: hub}
	var longest, sum time.Duration
	n := 0
	for b.Loop() {
		b.StopTimer()
		g.Expect(f.Up(ctx)).To(Succeed())
		g.Expect(f.Kill(ctx, fleet.AgentName("edge-1"))).To(Succeed())
		from := time.Now()
		b.StartTimer()
		g.Eventually(func(g Gomega) {
			g.Expect(w.ready(b, g)).To(Equal(metav1.ConditionUnknown))
		}).WithTimeout(waitTimeout).WithPolling(poll).Should(Succeed())
		took := time.Since(from)
		longest, sum, n = max(longest, took), sum+took, n+1
	}
	b.ReportMetric(longest.Seconds(), "s-longest")
	b.ReportMetric(sum.Seconds()/float64(n), "s-mean")
}
