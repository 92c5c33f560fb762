package execution

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// refusing is the state of a hub that may refuse the agent.
type refusing struct{ is, lasts atomic.Bool }

func (r *refusing) says() (time.Time, bool) {
	if !r.is.Load() {
		return time.Time{}, false
	}
	return time.Unix(1, 0), r.lasts.Load()
}

// TestAHubThatRefusesIsNotAway checks that a hub that refuses counts as answering: the journal may be outdated, and
// is used only once the hub is silent.
func TestAHubThatRefusesIsNotAway(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	work := workWith(t, "settings", inShop("settings", "", ""))
	var hubSays refusing
	hubSays.is.Store(true)
	c := clocktesting.NewFakeClock(time.Unix(100, 0))
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer queue.ShutDown()
	r := &Reconciler{works: newWorks(fakeClient(t, interceptor.Funcs{}), []Kept{{Work: work}}), clock: c, hubTimeout: time.Second, hubRefuses: hubSays.says, queue: queue}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.awaitHub(ctx, nil)
	}()
	tick := func() {
		g.Eventually(c.HasWaiters).WithTimeout(time.Minute).Should(BeTrue())
		c.Step(time.Second)
	}
	for range 3 {
		tick()
	}
	g.Eventually(c.HasWaiters).WithTimeout(time.Minute).Should(BeTrue(), "it waits")
	_, from, err := r.works.Get(t.Context(), client.ObjectKeyFromObject(work))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(from).To(Equal(unknown))
	g.Expect(queue.Len()).To(BeZero())

	hubSays.is.Store(false) // it fell silent
	tick()
	g.Eventually(queue.Len).WithTimeout(time.Minute).Should(Equal(1))
	_, from, err = r.works.Get(t.Context(), client.ObjectKeyFromObject(work))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(from).To(Equal(journal))

	hubSays.is.Store(true) // the network came late
	result, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(work)})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.RequeueAfter).To(BeNumerically(">", 0), "nothing is applied, for which there is no client here")
	cancel()
	g.Eventually(done).WithTimeout(time.Minute).Should(BeClosed())
}

func TestWorksRestWhileTheHubRefuses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		is, lasts bool
		from      origin
		want      bool
	}{
		"it lets the agent in":               {from: hub},
		"the hub is silent":                  {from: journal},
		"of a Work of the journal, at once":  {is: true, from: journal, want: true},
		"of one that the hub said, not soon": {is: true, from: hub},
		"of one that the hub said, later":    {is: true, lasts: true, from: hub, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var hubSays refusing
			hubSays.is.Store(tc.is)
			hubSays.lasts.Store(tc.lasts)
			r := &Reconciler{hubRefuses: hubSays.says}
			NewWithT(t).Expect(r.rests(t.Context(), tc.from)).To(Equal(tc.want))
		})
	}
}
