package watches_test

import (
	"context"
	"errors"
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

var (
	gauges    = schema.GroupVersionKind{Group: "watched.example.com", Version: "v1", Kind: "Gauge"}
	resource  = schema.GroupResource{Group: gauges.Group, Resource: "gauges"}
	forbidden = apierrors.NewForbidden(resource, "", errors.New(`user "agent" cannot list resource "gauges"`))
	gone      = apierrors.NewGenericServerResponse(404, "list", resource, "", "", 0, true)
)

// member is what a member answers to an informer. It is used in a bubble of synctest.
type member struct {
	mu      sync.Mutex
	refuses error
	asked   int
	began   *watch.FakeWatcher
}

func (m *member) answer(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refuses = err
}

func (m *member) lists() toolscache.ListerWatcher {
	return &toolscache.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.asked++
			if m.refuses != nil {
				return nil, m.refuses
			}
			return nil, errors.New("all is streamed")
		},
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
			m.mu.Lock()
			defer m.mu.Unlock()
			if m.refuses != nil {
				return nil, m.refuses
			}
			m.began = watch.NewFake()
			return m.began, nil
		},
	}
}

// shown ends what a watch shows of objects that were there before it.
func (m *member) shown() {
	m.mu.Lock()
	began := m.began
	m.mu.Unlock()
	end := &unstructured.Unstructured{}
	end.SetGroupVersionKind(gauges)
	end.SetResourceVersion("7")
	end.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	began.Action(watch.Bookmark, end)
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
				g.Expect(m.asked).To(BeNumerically(">", 0))
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

				m.answer(nil)
				time.Sleep(2 * time.Minute)
				synctest.Wait()
				g.Expect(lost()).NotTo(BeEmpty(), "the informer shows what it saw before until all objects were shown")
				m.shown()
				synctest.Wait()
				g.Expect(lost()).To(BeEmpty())
				g.Expect(told).To(Equal(2))
			})
		})
	}
}

func TestAMemberThatDoesNotAnswerLosesNoWatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		m, w := &member{refuses: apierrors.NewServiceUnavailable("it starts")}, watches.New(clock.RealClock{})
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
