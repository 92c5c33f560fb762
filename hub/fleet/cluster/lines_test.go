package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/hub/fleet/cluster/health"
)

// someLines are lines that a test opens and closes.
type someLines struct {
	mu      sync.Mutex
	lines   map[string]health.LineReport
	changed func(string)
}

func (l *someLines) Line(cluster string) (health.LineReport, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	seen, ok := l.lines[cluster]
	return seen, ok
}

func (l *someLines) Clusters() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Sorted(maps.Keys(l.lines))
}

func (l *someLines) OnChange(f func(string)) func() {
	l.changed = f
	return func() { l.changed = nil }
}

func (l *someLines) set(cluster string, seen health.LineReport) {
	l.mu.Lock()
	if l.lines == nil {
		l.lines = map[string]health.LineReport{}
	}
	l.lines[cluster] = seen
	l.mu.Unlock()
	if l.changed != nil {
		l.changed(cluster)
	}
}

func TestALineIsASignOfLifeAndItsLossTheEndOfIt(t *testing.T) {
	t.Parallel()
	g, h, ctx := NewWithT(t), newHeartbeats(t), t.Context()
	lines := &someLines{}
	h.lines = newLineTracker(lines, h.clock)
	h.options.FirstGrace = time.Minute
	look := func(after time.Duration) *clusterv1alpha1.Cluster {
		h.clock.SetTime(h.clock.Now().Add(after))
		_, err := h.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKey{Name: "edge-1"}})
		g.Expect(err).NotTo(HaveOccurred())
		out := &clusterv1alpha1.Cluster{}
		g.Expect(h.hub.Get(ctx, client.ObjectKey{Name: "edge-1"}, out)).To(Succeed())
		return out
	}
	h.beat(t)
	h.beat(t)
	lines.set("edge-1", health.LineReport{Up: true, Since: h.clock.Now()})
	look(0)
	before := h.writes
	for range 60 {
		g.Expect(meta.IsStatusConditionTrue(look(20*time.Second).Status.Conditions, clusterv1alpha1.ClusterReady)).To(BeTrue(), "no lease is needed")
		g.Expect(h.writes - before).To(BeZero())
	}
	lines.set("edge-1", health.LineReport{})
	look(0)
	look(2 * time.Second)
	g.Expect(h.writes - before).To(BeZero())
	lost := look(time.Second)
	ready := meta.FindStatusCondition(lost.Status.Conditions, clusterv1alpha1.ClusterReady)
	g.Expect(ready).To(HaveField("Reason", clusterv1alpha1.ReasonAgentDisconnected))
	g.Expect(lost.Spec.Taints).To(ConsistOf(HaveField("Key", "cluster.karmada.io/unreachable")))
}

func TestTheTrackerQueuesWhatChangesAndDoubtsMassLoss(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	now := time.Unix(1000, 0)
	clk := clocktesting.NewFakePassiveClock(now)
	lines := &someLines{}
	lines.set("edge-0", health.LineReport{Up: true, Since: now})
	tracker := newLineTracker(lines, clk)
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[ctrl.Request]())
	defer queue.ShutDown()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	g.Expect(tracker.follow(ctx, queue)).To(Succeed())
	g.Expect(queue.Len()).To(Equal(1), "those that are there")
	for i := range 4 {
		lines.set(fmt.Sprintf("edge-%d", i), health.LineReport{Up: true, Since: now})
	}
	g.Expect(queue.Len()).To(Equal(4))

	clk.SetTime(now.Add(time.Minute))
	lines.set("edge-0", health.LineReport{Since: now.Add(-time.Hour)})
	line, suspect := tracker.of("edge-0")
	g.Expect(line).To(Equal(health.Line{Known: true, Since: now, Lost: now.Add(time.Minute)}), "by our own clock")
	g.Expect(suspect).To(BeFalse())
	lines.set("edge-1", health.LineReport{Up: true, Since: now.Add(time.Hour)})
	line, _ = tracker.of("edge-1")
	g.Expect(line.Lost).To(Equal(now.Add(time.Minute)), "it was exchanged, and nobody saw the gap")
	lines.set("edge-2", health.LineReport{})
	clk.SetTime(now.Add(time.Minute + lossesFor))
	_, suspect = tracker.of("edge-2")
	g.Expect(suspect).To(BeTrue())
	_, suspect = tracker.of("edge-3")
	g.Expect(suspect).To(BeFalse(), "it is up")
	line, _ = tracker.of("edge-9")
	g.Expect(line.Known).To(BeFalse())
}
