package setup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

func TestTheHubIsReadInPages(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var asked []metav1.ListOptions
	streamed := false
	source := &toolscache.ListWatch{
		ListWithContextFunc: func(_ context.Context, o metav1.ListOptions) (runtime.Object, error) {
			asked = append(asked, o)
			list := &workv1alpha1.WorkList{Items: []workv1alpha1.Work{{ObjectMeta: metav1.ObjectMeta{Name: "a" + o.Continue}}}}
			list.ResourceVersion = "7"
			if o.Continue == "" {
				list.Continue = "b"
			}
			return list, nil
		},
		WatchFuncWithContext: func(_ context.Context, o metav1.ListOptions) (watch.Interface, error) {
			streamed = streamed || o.SendInitialEvents != nil
			return watch.NewFake(), nil
		},
	}
	informer := NewSources(clock.RealClock{}, nil).informers(source, &workv1alpha1.Work{}, 0, toolscache.Indexers{})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		informer.RunWithContext(ctx)
	}()
	g.Eventually(informer.HasSynced).Should(BeTrue())
	g.Expect(informer.GetStore().ListKeys()).To(ConsistOf("a", "ab"))
	cancel()
	<-done
	g.Expect(streamed).To(BeFalse(), "what is streamed is not compressed")
	g.Expect(asked).To(HaveLen(2))
	for _, o := range asked {
		g.Expect(o.Limit).To(BeEquivalentTo(page))
		g.Expect(o.ResourceVersion).To(BeEmpty(), "a named version is given all at once")
	}
}

func TestAHubThatIsBackIsHeardSoon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		back := time.Now().Add(10 * time.Minute)
		heard := make(chan time.Time, 1)
		source := &toolscache.ListWatch{
			ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
				return &workv1alpha1.WorkList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}}, nil
			},
			WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
				if time.Now().Before(back) {
					return nil, errors.New("dial tcp: no route to host")
				}
				heard <- time.Now()
				return watch.NewFake(), nil
			},
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			NewSources(clock.RealClock{}, nil).informers(source, &workv1alpha1.Work{}, 0, toolscache.Indexers{}).RunWithContext(ctx)
		}()
		g.Expect(<-heard).To(BeTemporally("<=", back.Add(2*askAgain)))
		cancel()
		<-done
	})
}

func TestAllAskAHubThatIsAwayAtTheSameTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		var mu sync.Mutex
		asked := map[time.Time]int{}
		source := &toolscache.ListWatch{WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
			mu.Lock()
			defer mu.Unlock()
			asked[time.Now()]++
			return nil, errors.New("dial tcp: connection refused")
		}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		sources := NewSources(clock.RealClock{}, nil)
		var watching sync.WaitGroup
		for _, example := range []runtime.Object{&workv1alpha1.Work{}, &clusterv1alpha1.Cluster{}, &configv1alpha1.ResourceInterpreterCustomization{}} {
			watching.Go(func() {
				_, _ = toolscache.ToListerWatcherWithContext(sources.Of(source, example)).WatchWithContext(ctx, metav1.ListOptions{})
			})
		}
		watching.Wait()
		g.Expect(asked).To(HaveEach(3), "so that they try one connection")
		g.Expect(len(asked)).To(BeNumerically(">=", 6), "within a minute")
	})
}

func TestAnAnswerOfTheHubIsForTheInformer(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	gone := apierrors.NewResourceExpired("too old resource version")
	source := &toolscache.ListWatch{WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return nil, gone }}
	_, err := newAnswering(toolscache.ToListerWatcherWithContext(source), NewSources(clock.RealClock{}, nil)).WatchWithContext(t.Context(), metav1.ListOptions{})
	g.Expect(err).To(MatchError(gone))
}

// works is a hub with count Works, each of which takes a while to transfer.
type works struct {
	toolscache.ListWatch

	count   int
	each    time.Duration
	expires func() bool
	asked   []int64
}

func (w *works) list(_ context.Context, o metav1.ListOptions) (runtime.Object, error) {
	const cutOff = time.Minute
	w.asked = append(w.asked, o.Limit)
	first, _ := strconv.Atoi(o.Continue)
	if first > 0 && w.expires != nil && w.expires() {
		return nil, apierrors.NewResourceExpired("the provided continue parameter is too old")
	}
	n := min(int(o.Limit), w.count-first)
	if n == 0 { // no limit
		n = w.count - first
	}
	takes := time.Duration(n) * w.each
	time.Sleep(min(takes, cutOff))
	if takes > cutOff {
		return nil, errors.New("stream error when reading response body, may be caused by closed connection")
	}
	list := &workv1alpha1.WorkList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}}
	for i := range n {
		list.Items = append(list.Items, workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("work-%d", first+i)}})
	}
	if first+n < w.count {
		list.Continue = strconv.Itoa(first + n)
	}
	return list, nil
}

// synced runs an informer until it has synced, and returns the number of its objects.
func (w *works) synced(t *testing.T) int {
	t.Helper()
	w.ListWithContextFunc = w.list
	w.WatchFuncWithContext = func(context.Context, metav1.ListOptions) (watch.Interface, error) { return watch.NewFake(), nil }
	informer := NewSources(clock.RealClock{}, nil).informers(&w.ListWatch, &workv1alpha1.Work{}, 0, toolscache.Indexers{})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		informer.RunWithContext(ctx)
	}()
	NewWithT(t).Expect(toolscache.WaitForCacheSync(ctx.Done(), informer.HasSynced)).To(BeTrue())
	n := len(informer.GetStore().ListKeys())
	cancel()
	<-done
	return n
}

func TestAListThatExpiresOnTheWayBeginsAnew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		expired := false
		hub := &works{count: 250, each: time.Millisecond, expires: func() bool {
			first := !expired
			expired = true
			return first
		}}
		g.Expect(hub.synced(t)).To(Equal(250), "and not what the first page of another list has")
		g.Expect(hub.asked).To(Equal([]int64{page, page, page, page, page}))
	})
}

func TestPagesAreMadeSmallerThanWhatIsCutOff(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		each time.Duration
		want []int64
	}{
		"a fast line":                         {time.Millisecond, []int64{100, 100, 100}},
		"pages that take long and come whole": {300 * time.Millisecond, []int64{100, 50, 50, 50}},
		"pages that are cut off":              {2 * time.Second, []int64{100, 25}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				hub := &works{count: 250, each: tc.each}
				g.Expect(hub.synced(t)).To(Equal(250))
				g.Expect(hub.asked[:len(tc.want)]).To(Equal(tc.want))
				g.Expect(slices.Min(hub.asked)).To(BeNumerically(">", 2), "no smaller than need be")
			})
		})
	}
}
