package kube_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"fairlead.dev/common/kube"
)

func pacedRequest(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}
}

// TestTurnsComeAtAPace reconciles objects each of which asks for a turn until it has had one.
func TestTurnsComeAtAPace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		ctx, cancel := context.WithCancel(t.Context())
		q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
		p := kube.NewPaced(clock.RealClock{}, time.Second)
		g.Expect(p.Source().Start(ctx, q)).To(Succeed())
		turns := []string{}
		busy := time.Duration(0)
		began := time.Now()
		go func() {
			for {
				req, ended := q.Get()
				if ended {
					return
				}
				time.Sleep(busy)
				if p.Take(req) {
					turns = append(turns, fmt.Sprint(req.Name, " ", time.Since(began)))
				}
				q.Done(req)
			}
		}()
		for _, writes := range []int{1, 10} { // in the second round they have a turn coming, which then counts more writes
			p.Add(pacedRequest("a"), 1)
			p.Add(pacedRequest("wide"), writes)
			p.Add(pacedRequest("b"), 1)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		g.Expect(turns).To(Equal([]string{"a 0s", "wide 1s", "b 11s"}))
		g.Expect(p.Take(pacedRequest("a"))).To(BeFalse(), "it has had its turn")

		// A reconcile for another reason takes no turn, and a slow controller gets turns no faster.
		turns, busy, began = nil, 5*time.Second, time.Now()
		q.Add(pacedRequest("c"))
		p.Add(pacedRequest("a"), 1)
		p.Add(pacedRequest("b"), 1)
		time.Sleep(time.Minute)
		synctest.Wait()
		g.Expect(turns).To(Equal([]string{"a 10s", "b 16s"}))
		cancel()
		q.ShutDown()
	})
}
