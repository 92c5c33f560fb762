package failover

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/utils/clock"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

// ahead is a clock that can run ahead of real time. Its tickers tick only on demand, so a leap counts as a suspension
// only once tick is called.
type ahead struct {
	clock.RealClock

	by      atomic.Int64
	mu      sync.Mutex
	tickers []ticker
}

func (a *ahead) Now() time.Time                   { return time.Now().Add(time.Duration(a.by.Load())) }
func (a *ahead) Since(at time.Time) time.Duration { return a.Now().Sub(at) }

func (a *ahead) NewTicker(time.Duration) clock.Ticker {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tickers = append(a.tickers, make(ticker))
	return a.tickers[len(a.tickers)-1]
}

// tick makes every ticker tick at least once, and returns when their receivers have handled it.
func (a *ahead) tick() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for range 2 {
		for _, t := range a.tickers {
			t <- a.Now()
		}
	}
}

type ticker chan time.Time

func (t ticker) C() <-chan time.Time { return t }
func (ticker) Stop()                 {}

// TestAHubThatWasSuspendedEndsNoEvictionByWhatWasReportedBefore: a hub cannot know how long it was suspended from the
// clusters' point of view.
func TestAHubThatWasSuspendedEndsNoEvictionByWhatWasReportedBefore(t *testing.T) {
	t.Parallel()
	s := start(t, 0)
	for _, name := range []string{"edge-1", "edge-2"} {
		s.cluster(t, name)
	}
	before, after := s.binding(t, "before", "edge-1"), s.binding(t, "after", "edge-1")
	s.taint(t, lost)
	for _, b := range []*workv1alpha2.ResourceBinding{before, after} {
		s.eventually(t, b, func(g Gomega) { g.Expect(where(b)).To(BeEmpty()) })
	}
	s.scheduled(t, before, workv1alpha1.Healthy, workv1alpha2.TargetCluster{Name: "edge-2", Replicas: 2})
	s.eventually(t, before, func(g Gomega) { g.Expect(before.Spec.GracefulEvictionTasks).To(BeEmpty()) })

	s.clock.tick()
	s.later(t, time.Hour)
	s.scheduled(t, after, workv1alpha1.Healthy, workv1alpha2.TargetCluster{Name: "edge-2", Replicas: 2})
	s.awaitsReports(t, after)
}
