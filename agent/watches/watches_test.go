package watches_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"fairlead.dev/agent/watches"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

var (
	gauges    = schema.GroupVersionKind{Group: "watched.example.com", Version: "v1", Kind: "Gauge"}
	resource  = schema.GroupResource{Group: gauges.Group, Resource: "gauges"}
	forbidden = apierrors.NewForbidden(resource, "", errors.New(`user "agent" cannot list resource "gauges"`))
	gone      = apierrors.NewGenericServerResponse(404, "list", resource, "", "", 0, true)
)

// failing are the errors of API servers, webhooks and caches that do not work.
var failing = map[string]error{
	"by an API server of its own that is down":        apierrors.NewServiceUnavailable("the server is currently unable to handle the request"),
	"through a conversion webhook that does not work": apierrors.NewInternalError(errors.New("conversion webhook for watched.example.com/v1, Kind=Gauge failed")),
	"by a cache that cannot be filled":                apierrors.NewTooManyRequests("storage is (re)initializing", 1),
}

func TestAWatchThatIsRefusedIsLostUntilItBeginsAgain(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		refusal    error
		namespace  string
		wantReason string
		want       []string
	}{
		"without the right to": {
			refusal: forbidden, namespace: "shop", wantReason: workv1alpha1.ReasonWatchForbidden,
			want: []string{"the kind Gauge of watched.example.com/v1", `in the namespace "shop"`, `user "agent" cannot list`, "get, list and watch"},
		},
		"without the kind": {
			refusal: gone, wantReason: workv1alpha1.ReasonKindNotServed,
			want: []string{"the kind Gauge of watched.example.com/v1", "CustomResourceDefinition"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				m, w := &member{}, watches.New(clock.RealClock{})
				told := 0
				w.Subscribe(func(kind schema.GroupVersionKind) {
					g.Expect(kind).To(Equal(gauges))
					told++
				})
				lost := func() string {
					reason, _ := w.Lost(gauges, tc.namespace)
					return reason
				}
				example := &unstructured.Unstructured{}
				example.SetGroupVersionKind(gauges)
				informer := w.Informers(tc.namespace)(m.lists(), example, 0, toolscache.Indexers{})
				ctx, cancel := context.WithCancel(t.Context())
				var done sync.WaitGroup
				done.Go(func() { informer.RunWithContext(ctx) })
				defer done.Wait()
				defer cancel()
				synctest.Wait()
				m.shown()
				synctest.Wait()
				g.Expect(informer.HasSynced()).To(BeTrue())

				m.answer(tc.refusal)
				m.began.Stop()
				time.Sleep(2 * time.Second)
				synctest.Wait()
				g.Expect(m.asked.Load()).To(BeNumerically(">", 0))
				g.Expect(lost()).To(BeEmpty(), "an API server that starts refuses as well")
				time.Sleep(time.Minute)
				synctest.Wait()
				reason, message := w.Lost(gauges, tc.namespace)
				g.Expect(reason).To(Equal(tc.wantReason))
				for _, part := range tc.want {
					g.Expect(message).To(ContainSubstring(part))
				}
				g.Expect(told).To(Equal(1), "however often it is refused")
				elsewhere, _ := w.Lost(gauges, "elsewhere")
				g.Expect(elsewhere).To(BeEmpty())

				m.letsIn()
				g.Expect(lost()).NotTo(BeEmpty(), "the informer shows what it saw before until all objects were shown")
				m.shown()
				synctest.Wait()
				g.Expect(lost()).To(BeEmpty())
				g.Expect(told).To(Equal(2))
			})
		})
	}
}

// run runs an informer of the member, which has seen all objects.
func (m *member) run(t *testing.T, w *watches.Watches, indexers toolscache.Indexers) {
	t.Helper()
	example := &unstructured.Unstructured{}
	example.SetGroupVersionKind(gauges)
	informer := w.Informers("")(m.lists(), example, 0, indexers)
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() { informer.RunWithContext(ctx) })
	t.Cleanup(func() {
		cancel()
		done.Wait()
	})
	synctest.Wait()
	m.shown()
	synctest.Wait()
	NewWithT(t).Expect(informer.HasSynced()).To(BeTrue())
}

func TestAWatchThatFailsForGoodIsLost(t *testing.T) {
	t.Parallel()
	for name, answer := range failing {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				m, w := &member{}, watches.New(clock.RealClock{})
				told := 0
				w.Subscribe(func(schema.GroupVersionKind) { told++ })
				m.run(t, w, toolscache.Indexers{})
				reason := func() string {
					synctest.Wait()
					reason, _ := w.Lost(gauges, "")
					return reason
				}
				m.answer(answer)
				m.began.Stop()
				time.Sleep(30 * time.Second)
				g.Expect(reason()).To(BeEmpty(), "it may pass")
				time.Sleep(2 * time.Minute)
				g.Expect(reason()).To(Equal(workv1alpha1.ReasonWatchFailing))
				_, message := w.Lost(gauges, "")
				g.Expect(message).To(And(
					ContainSubstring("the kind Gauge of watched.example.com/v1"), ContainSubstring("conversion webhook"), ContainSubstring("APIService")))
				m.answer(apierrors.NewInternalError(errors.New("dial tcp 10.0.0.1:41234: connect: connection refused")))
				time.Sleep(5 * time.Minute)
				synctest.Wait()
				_, still := w.Lost(gauges, "")
				g.Expect(still).To(Equal(message), "what a server says that fails may be another thing each time")
				g.Expect(told).To(Equal(1))
				m.letsIn()
				g.Expect(reason()).NotTo(BeEmpty(), "not all objects were shown")
				m.shown()
				g.Expect(reason()).To(BeEmpty())
				g.Expect(told).To(Equal(2))
			})
		})
	}
}

func TestAWatchThatFailsWhileTheMemberIsNotReadyIsNotLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		m, w := &member{}, watches.New(clock.RealClock{})
		m.run(t, w, toolscache.Indexers{})
		w.Probed(false)
		m.answer(apierrors.NewServiceUnavailable("nobody is behind this"))
		m.began.Stop()
		time.Sleep(time.Hour)
		synctest.Wait()
		reason, _ := w.Lost(gauges, "")
		g.Expect(reason).To(BeEmpty(), "the Cluster tells")
		w.Probed(true)
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		reason, _ = w.Lost(gauges, "")
		g.Expect(reason).To(Equal(workv1alpha1.ReasonWatchFailing))
	})
}

// TestAWatchIsLostUntilItsInformerShowsWhatItWasShown relies on the queue between the watch and the informer's store.
func TestAWatchIsLostUntilItsInformerShowsWhatItWasShown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		m, w := &member{}, watches.New(clock.RealClock{})
		lost := func() string {
			reason, _ := w.Lost(gauges, "")
			return reason
		}
		var whileTakenOver []string
		m.run(t, w, toolscache.Indexers{"any": func(any) ([]string, error) { // it is asked before anybody is shown the object
			whileTakenOver = append(whileTakenOver, lost())
			return nil, nil
		}})
		m.answer(forbidden)
		m.began.Stop()
		time.Sleep(time.Minute)
		synctest.Wait()
		g.Expect(lost()).To(Equal(workv1alpha1.ReasonWatchForbidden))
		m.letsIn()
		gauge := &unstructured.Unstructured{}
		gauge.SetGroupVersionKind(gauges)
		gauge.SetName("pressure")
		gauge.SetResourceVersion("9")
		whileTakenOver = nil
		m.began.Add(gauge)
		m.shownAt("9")
		synctest.Wait()
		time.Sleep(time.Second)
		synctest.Wait()
		g.Expect(whileTakenOver).NotTo(BeEmpty())
		g.Expect(whileTakenOver).To(HaveEach(workv1alpha1.ReasonWatchForbidden))
		g.Expect(lost()).To(BeEmpty())
	})
}

func TestAMemberThatDoesNotAnswerLosesNoWatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		m, w := &member{refuses: &net.OpError{Op: "read", Err: syscall.ETIMEDOUT}}, watches.New(clock.RealClock{})
		example := &unstructured.Unstructured{}
		example.SetGroupVersionKind(gauges)
		informer := w.Informers("")(m.lists(), example, 0, toolscache.Indexers{})
		ctx, cancel := context.WithCancel(t.Context())
		var done sync.WaitGroup
		done.Go(func() { informer.RunWithContext(ctx) })
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		reason, _ := w.Lost(gauges, "")
		g.Expect(reason).To(BeEmpty())
		cancel()
		done.Wait()
	})
}
