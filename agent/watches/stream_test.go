package watches_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"fairlead.dev/agent/watches"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

// endless is a member that streams initial objects and does not send the bookmark that ends them.
type endless struct {
	mu sync.Mutex
	// list answers a list.
	list func(context.Context) (runtime.Object, error)
	// streams counts the requested streams, and streaming is the last; watching is the last watch after a list.
	streams             int
	streaming, watching *watch.FakeWatcher
}

func (e *endless) lists() toolscache.ListerWatcher {
	return &toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) { return e.list(ctx) },
		WatchFuncWithContext: func(_ context.Context, o metav1.ListOptions) (watch.Interface, error) {
			e.mu.Lock()
			defer e.mu.Unlock()
			if o.SendInitialEvents == nil {
				e.watching = watch.NewFake()
				return e.watching, nil
			}
			e.streams++
			e.streaming = watch.NewFake()
			return e.streaming, nil
		},
	}
}

// asked is how often a stream was asked for.
func (e *endless) asked() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.streams
}

// stream is the stream that was asked for last.
func (e *endless) stream() *watch.FakeWatcher {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.streaming
}

// watched returns the last watch after a list.
func (e *endless) watched() *watch.FakeWatcher {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.watching
}

// run starts an informer and syncs it with no objects; from then on the member's streams have no end.
func (e *endless) run(t *testing.T, w *watches.Watches) toolscache.SharedIndexInformer {
	t.Helper()
	example := &unstructured.Unstructured{}
	example.SetGroupVersionKind(gauges)
	informer := w.Informers("")(e.lists(), example, 0, toolscache.Indexers{})
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() { informer.RunWithContext(ctx) })
	t.Cleanup(func() {
		cancel()
		done.Wait()
	})
	synctest.Wait()
	e.stream().Action(watch.Bookmark, gauge("", "3", "true"))
	synctest.Wait()
	NewWithT(t).Expect(informer.HasSynced()).To(BeTrue())
	e.stream().Stop() // as when the API server restarts
	for again := false; !again; again = e.asked() > 1 {
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
	}
	return informer
}

// gauge is an object; without a name it is a bookmark, which may be the end of the objects.
func gauge(name, version, ends string) *unstructured.Unstructured {
	out := &unstructured.Unstructured{}
	out.SetGroupVersionKind(gauges)
	out.SetName(name)
	out.SetResourceVersion(version)
	if ends != "" {
		out.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: ends})
	}
	return out
}

func listOf(version string, objects ...*unstructured.Unstructured) *unstructured.UnstructuredList {
	out := &unstructured.UnstructuredList{}
	out.SetGroupVersionKind(gauges.GroupVersion().WithKind("GaugeList"))
	out.SetResourceVersion(version)
	for _, o := range objects {
		out.Items = append(out.Items, *o)
	}
	return out
}

func TestAStreamWithoutAnEndIsListedInstead(t *testing.T) {
	t.Parallel()
	for name, shows := range map[string]func(*endless){
		"that shows nothing":                func(*endless) {},
		"that shows some and then no more":  func(e *endless) { e.stream().Add(gauge("pressure", "4", "")) },
		"that says that nothing has passed": func(e *endless) { e.stream().Action(watch.Bookmark, gauge("", "4", "")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				e, w := &endless{list: func(context.Context) (runtime.Object, error) { return listOf("9", gauge("pressure", "9", "")), nil }}, watches.New(clock.RealClock{})
				told := 0
				w.Subscribe(func(schema.GroupVersionKind) { told++ })
				informer := e.run(t, w)
				shows(e)
				time.Sleep(20 * time.Second)
				synctest.Wait()
				g.Expect(informer.LastSyncResourceVersion()).To(Equal("3"), "the end may come")
				time.Sleep(time.Minute)
				synctest.Wait()
				g.Expect(informer.GetStore().ListKeys()).To(Equal([]string{"pressure"}))
				g.Expect(informer.LastSyncResourceVersion()).To(Equal("9"))

				// The next watch does not ask for a stream again soon, but it does later.
				e.watched().Error(&apierrors.NewResourceExpired("too old").ErrStatus)
				time.Sleep(2 * time.Minute)
				synctest.Wait()
				g.Expect(e.asked()).To(Equal(2))
				time.Sleep(time.Hour)
				e.watched().Error(&apierrors.NewResourceExpired("too old").ErrStatus)
				time.Sleep(10 * time.Second)
				synctest.Wait()
				g.Expect(e.asked()).To(Equal(3))
				e.stream().Action(watch.Bookmark, gauge("", "12", "true"))
				synctest.Wait()
				time.Sleep(time.Hour)
				synctest.Wait()
				g.Expect(informer.LastSyncResourceVersion()).To(Equal("12"))
				g.Expect(informer.GetStore().ListKeys()).To(BeEmpty())
				e.stream().Add(gauge("depth", "13", ""))
				synctest.Wait()
				g.Expect(informer.GetStore().ListKeys()).To(Equal([]string{"depth"}), "that stream goes on for as long as the member has it")
				g.Expect(told).To(BeZero(), "it was always seen again in time")
			})
		})
	}
}

// TestAStreamThatGoesOnWithoutAnEndIsListedInstead has the stream deliver changes, but never the bookmark that ends
// the initial objects.
func TestAStreamThatGoesOnWithoutAnEndIsListedInstead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		e, w := &endless{list: func(context.Context) (runtime.Object, error) { return listOf("9"), nil }}, watches.New(clock.RealClock{})
		informer := e.run(t, w)
		began := time.Now()
		for e.watched() == nil && time.Since(began) < time.Hour {
			if !e.stream().IsStopped() {
				e.stream().Modify(gauge("pressure", "4", ""))
			}
			time.Sleep(10 * time.Second)
			synctest.Wait()
		}
		g.Expect(time.Since(began)).To(And(BeNumerically(">", 4*time.Minute), BeNumerically("<", 7*time.Minute)), "objects may be many")
		g.Expect(informer.LastSyncResourceVersion()).To(Equal("9"))
	})
}

func TestAStreamWithoutAnEndIsLostIfNothingIsListedEither(t *testing.T) {
	t.Parallel()
	for name, list := range map[string]func(context.Context) (runtime.Object, error){
		"which fails": func(context.Context) (runtime.Object, error) {
			return nil, apierrors.NewInternalError(context.DeadlineExceeded)
		},
		"which is not answered": func(ctx context.Context) (runtime.Object, error) {
			select {
			case <-ctx.Done():
			case <-time.After(24 * time.Hour):
			}
			return nil, context.DeadlineExceeded
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				e, w := &endless{list: list}, watches.New(clock.RealClock{})
				e.run(t, w)
				reason := func() string {
					synctest.Wait()
					reason, _ := w.Lost(gauges, "")
					return reason
				}
				time.Sleep(time.Minute)
				g.Expect(reason()).To(BeEmpty())
				time.Sleep(3 * time.Minute)
				g.Expect(reason()).To(Equal(workv1alpha1.ReasonWatchFailing))
			})
		})
	}
}
