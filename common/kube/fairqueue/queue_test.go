package fairqueue_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/client-go/util/workqueue"

	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/fairqueue"
)

// TestLargeRequestsOfOthersAreNotWaitedFor enqueues large requests that would occupy all workers many times over, and
// counts those that finish before the requests of another namespace.
func TestLargeRequestsOfOthersAreNotWaitedFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ workers, most, ofShop int }{
		"the workers of a hub": {workers: 12, most: 0, ofShop: 6},
		"two":                  {workers: 2, most: 0, ofShop: 1},
		"one":                  {workers: 1, most: 2, ofShop: 1}, // the one in progress, and the next
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				p := begin(t, c.workers, nil)
				defer p.end()
				large := numbered("shop/large", 40)
				p.addAll(large...)
				time.Sleep(500 * time.Millisecond)
				p.addAll(numbered("shop/small", 40)...)
				p.addAll("office/small", "office/large")
				time.Sleep(time.Duration(c.most) * time.Second)
				synctest.Wait()
				first := p.finished()
				g.Expect(first).To(ContainElement("office/small"))
				g.Expect(first).To(WithTransform(largeOf, HaveLen(c.most)), "large ones before it")

				time.Sleep(time.Hour)
				g.Expect(append(first, p.finished()...)).To(HaveLen(82))
				p.note(func() { g.Expect(p.most).To(HaveKeyWithValue("shop", c.ofShop)) })
				for _, name := range large {
					g.Expect(p.tried(name)).To(BeNumerically("<=", 2), "it is found to be large, and nobody asks again before there is a slot")
				}
			})
		})
	}
}

func largeOf(names []string) []string {
	var out []string
	for _, name := range names {
		if strings.Contains(name, "large") {
			out = append(out, name)
		}
	}
	return out
}

// TestManySmallRequestsOfOneNamespaceKeepNoOtherWaiting has a namespace add more requests than the only worker can
// process in an hour.
func TestManySmallRequestsOfOneNamespaceKeepNoOtherWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		p := begin(t, 1, func(string) error {
			time.Sleep(time.Second)
			return nil
		})
		defer p.end()
		p.addAll(numbered("shop/small", 5000)...)
		time.Sleep(500 * time.Millisecond)
		p.addAll("office/1", "office/2")
		time.Sleep(5 * time.Second)
		g.Expect(p.finished()).To(Equal([]string{"shop/small-00", "shop/small-01", "office/1", "shop/small-02", "office/2"}))
	})
}

// TestDelaysBetweenRetriesAreKept has a large request fail that must wait for a slot between its retries.
func TestDelaysBetweenRetriesAreKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		failing := requestOf("shop/large-failing")
		var mu sync.Mutex
		var all []time.Duration
		tries := func() []time.Duration {
			mu.Lock()
			defer mu.Unlock()
			return all
		}
		began := time.Now()
		p := begin(t, 2, func(name string) error { // one of the two workers may be busy with large requests
			if name == failing.String() {
				mu.Lock()
				defer mu.Unlock()
				all = append(all, time.Since(began))
				return errors.New("refused")
			}
			return nil
		})
		defer p.end()
		p.Add(failing)
		time.Sleep(3100 * time.Millisecond) // at 1 s, 2.02 s and 3.06 s
		p.addAll(numbered("office/large", 5)...)
		time.Sleep(500 * time.Millisecond) // at 3.14 s it would be tried again
		g.Expect(tries()).To(HaveLen(3))
		g.Expect(p.tried(failing.String())).To(Equal(4), "it waits")
		g.Expect(p.NumRequeues(failing)).To(Equal(3))

		time.Sleep(10 * time.Second)
		g.Expect(p.finished()).To(HaveLen(5))
		g.Expect(len(tries())).To(BeNumerically(">", 5))
		g.Expect(p.NumRequeues(failing)).To(Equal(len(tries())))
		time.Sleep(20 * time.Minute)
		last := tries()[len(tries())-2:]
		g.Expect(last[1]-last[0]).To(Equal(61*time.Second), "a minute, and a second for the try")
	})
}

// TestWhatPanicsGivesItsSlotBack checks that a reconcile that panics releases its slot, and that no request is lost.
func TestWhatPanicsGivesItsSlotBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		panicked := map[string]bool{}
		p := begin(t, 1, func(name string) error {
			if !panicked[name] {
				panicked[name] = true
				panic("no such thing")
			}
			return nil
		})
		defer p.end()
		p.addAll("shop/large-1", "shop/large-2", "office/large")
		time.Sleep(time.Minute)
		g.Expect(p.finished()).To(ConsistOf("shop/large-1", "shop/large-2", "office/large"))
	})
}

// TestWhatEndsWhileItWaitsIsDoneAtOnce has requests wait for a slot that no longer need one, since the object is
// small by then or gone.
func TestWhatEndsWhileItWaitsIsDoneAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		q := fairqueue.New(fairqueue.Slots{OfNamespace: 1, OfAll: 1})
		var small atomic.Bool
		options := kube.ControllerOptions(3)
		options.NewQueue, options.SkipNameValidation = q.Start, new(true)
		done := make(chan string, 9)
		options.Reconciler = kube.QuietConflicts(reconcile.Func(func(_ context.Context, req reconcile.Request) (reconcile.Result, error) {
			if req.Name == "first" || !small.Load() {
				if err := q.TakeSlot(req); err != nil {
					return reconcile.Result{}, err
				}
				time.Sleep(time.Hour)
			}
			done <- req.Name
			return reconcile.Result{}, nil
		}))
		c, err := controller.NewUnmanaged("ends", options)
		g.Expect(err).NotTo(HaveOccurred())
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- c.Start(ctx) }()
		synctest.Wait()
		q.Add(requestOf("shop/first"))
		synctest.Wait()
		q.Add(requestOf("shop/second"))
		synctest.Wait()
		g.Expect(q.Len()).To(Equal(1))
		small.Store(true) // and all workers but one sleep
		q.AddWithOpts(priorityqueue.AddOpts{Priority: new(-100)}, requestOf("shop/second"))
		synctest.Wait()
		g.Expect(done).To(HaveLen(1))
		g.Expect(<-done).To(Equal("second"))
		g.Expect(q.Len()).To(BeZero())

		// It ends while one waits and others are on their way.
		small.Store(false)
		q.Add(requestOf("shop/second"))
		q.AddAfter(requestOf("shop/third"), time.Minute)
		synctest.Wait()
		cancel()
		g.Expect(<-ended).To(Succeed())
		g.Expect(done).To(HaveLen(1))
		g.Expect(<-done).To(Equal("first"))
		q.Add(requestOf("shop/fourth"))
		_, shutdown := q.Get()
		g.Expect(shutdown).To(BeTrue())
	})
}

// TestDelays checks delays as controller-runtime's queue implements them.
func TestDelays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		q := fairqueue.New(fairqueue.SlotsOf(1))
		q.Start("delays", workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](time.Second, time.Minute))
		defer q.ShutDown()
		req, low := requestOf("shop/a"), -100
		next := func(after time.Duration, priority int) {
			t.Helper()
			began := time.Now()
			got, p, _ := q.GetWithPriority()
			g.Expect(got).To(Equal(req))
			g.Expect(time.Since(began)).To(Equal(after))
			g.Expect(p).To(Equal(priority))
		}
		// The shortest delay counts, and the highest priority.
		q.AddAfter(req, 3*time.Minute)
		q.AddWithOpts(priorityqueue.AddOpts{After: time.Minute, Priority: &low}, req)
		q.AddAfter(req, 4*time.Minute)
		next(time.Minute, 0)
		q.AddWithOpts(priorityqueue.AddOpts{After: 5 * time.Minute, Priority: &low}, req) // while it is worked on
		q.Done(req)
		next(5*time.Minute, low) // the other delays were superseded
		q.Done(req)

		// An immediate add precedes any delay.
		q.AddAfter(req, time.Minute)
		q.AddWithOpts(priorityqueue.AddOpts{Priority: &low}, req)
		q.AddAfter(req, time.Minute)
		next(0, 0)
		q.Done(req)

		for _, after := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
			q.AddRateLimited(req)
			next(after, 0)
			q.Done(req)
		}
		q.Forget(req)
		q.AddRateLimited(req)
		next(time.Second, 0)
		q.Done(req)
		time.Sleep(10 * time.Minute)
		g.Expect(q.Len()).To(BeZero())
	})
}
