package fairqueue_test

import (
	"crypto/rand"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/client-go/util/workqueue"

	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"fairlead.dev/common/kube/fairqueue"
)

// told returns the metrics of a queue: of histograms the sum, and under the suffix .count the count.
func told(t *testing.T, queue string) map[string]float64 {
	t.Helper()
	families, err := metrics.Registry.Gather()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	out := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			for _, label := range m.GetLabel() {
				if label.GetName() != "name" || label.GetValue() != queue {
					continue
				}
				out[family.GetName()] += m.GetGauge().GetValue() + m.GetCounter().GetValue() + m.GetHistogram().GetSampleSum()
				if h := m.GetHistogram(); h != nil {
					out[family.GetName()+".count"] = float64(h.GetSampleCount())
				}
			}
		}
	}
	return out
}

// TestMetrics checks that the metrics of all workqueues are exported. A request that waits for a slot counts as
// waiting for a worker.
func TestMetrics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, name := NewWithT(t), "metrics-"+rand.Text()
		q := fairqueue.New(fairqueue.Slots{OfNamespace: 1, OfAll: 1})
		q.Start(name, workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](time.Second, time.Minute))
		defer q.ShutDown()
		first, second := requestOf("shop/first"), requestOf("shop/second")
		q.Add(first)
		q.Add(second)
		q.Add(second)
		g.Expect(told(t, name)).To(And(HaveKeyWithValue("workqueue_depth", 2.0), HaveKeyWithValue("workqueue_adds_total", 2.0)))
		time.Sleep(time.Second)
		for _, req := range []reconcile.Request{first, second} {
			got, _ := q.Get()
			g.Expect(got).To(Equal(req))
		}
		g.Expect(q.TakeSlot(first)).To(Succeed())
		g.Expect(q.TakeSlot(second)).To(MatchError(fairqueue.ErrWaits))
		time.Sleep(time.Second)
		q.Done(second)
		time.Sleep(600 * time.Millisecond) // they are looked at every half a second
		g.Expect(told(t, name)).To(And(
			HaveKeyWithValue("workqueue_depth", 1.0), HaveKeyWithValue("workqueue_adds_total", 3.0),
			HaveKeyWithValue("workqueue_queue_duration_seconds", 2.0), HaveKeyWithValue("workqueue_queue_duration_seconds.count", 2.0),
			HaveKeyWithValue("workqueue_work_duration_seconds", 1.0), HaveKeyWithValue("workqueue_work_duration_seconds.count", 1.0),
			HaveKeyWithValue("workqueue_unfinished_work_seconds", 1.5), HaveKeyWithValue("workqueue_longest_running_processor_seconds", 1.5),
		), "only the first is with a worker")
		time.Sleep(7400 * time.Millisecond)
		q.Done(first)
		got, _ := q.Get()
		g.Expect(got).To(Equal(second))
		g.Expect(told(t, name)).To(And(HaveKeyWithValue("workqueue_depth", 0.0),
			HaveKeyWithValue("workqueue_queue_duration_seconds", 10.0), HaveKeyWithValue("workqueue_queue_duration_seconds.count", 3.0)))
		q.AddRateLimited(second)
		q.Done(second)
		g.Expect(told(t, name)).To(And(HaveKeyWithValue("workqueue_depth", 0.0), HaveKeyWithValue("workqueue_retries_total", 1.0)))
		time.Sleep(time.Minute)
		g.Expect(told(t, name)).To(And(HaveKeyWithValue("workqueue_depth", 1.0), HaveKeyWithValue("workqueue_adds_total", 4.0),
			HaveKeyWithValue("workqueue_unfinished_work_seconds", 0.0)))
	})
}
