package setup

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"fairlead.dev/agent/presence"
	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

func TestAHubThatWentBackInTimeIsNoticedWhenAWatchGoesOn(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		version string // of the hub when the watch ended, which was at 7
		want    *presence.RestoredError
	}{
		"restored":             {version: "5", want: &presence.RestoredError{Whose: "hub", Left: "7", Found: "5"}},
		"nothing has happened": {version: "7"},
		"something has":        {version: "12"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				version, watches := "7", make(chan *watch.FakeWatcher, 2)
				var from, asked []string
				source := &toolscache.ListWatch{
					ListWithContextFunc: func(_ context.Context, o metav1.ListOptions) (runtime.Object, error) {
						if o.FieldSelector == nothing {
							asked = append(asked, version)
						}
						return &workv1alpha1.WorkList{ListMeta: metav1.ListMeta{ResourceVersion: version}}, nil
					},
					WatchFuncWithContext: func(_ context.Context, o metav1.ListOptions) (watch.Interface, error) {
						from = append(from, o.ResourceVersion)
						w := watch.NewFake()
						watches <- w
						return w, nil
					},
				}
				restored := newRestores()
				informer := NewSources(clock.RealClock{}, restored.tell).informers(source, &workv1alpha1.Work{}, 0, toolscache.Indexers{})
				ctx, cancel := context.WithCancel(t.Context())
				var done sync.WaitGroup
				done.Go(func() { informer.RunWithContext(ctx) })
				first := <-watches
				g.Expect(asked).To(BeEmpty(), "a watch that begins where the list was needs no question")

				version = tc.version
				time.Sleep(time.Minute) // a reflector lists anew after a watch that ended at once
				first.Stop()
				time.Sleep(time.Minute)
				synctest.Wait()

				g.Expect(asked).To(Equal([]string{tc.version}))
				g.Expect(from).To(Equal([]string{"7", "7"}))
				if tc.want != nil {
					g.Expect(restored).To(Receive(Equal(tc.want)))
				} else {
					g.Expect(restored).NotTo(Receive())
				}
				cancel()
				done.Wait()
			})
		})
	}
}

// hub serves lists and watches, and after a restart no longer knows the resourceVersions of earlier watches.
type hub struct {
	mu      sync.Mutex
	version string
	asked   []string // requests, as kind and resourceVersion
	watches []*watch.FakeWatcher
	forgets bool
}

func (h *hub) source(kind string, list func(metav1.ListMeta) runtime.Object, example func() runtime.Object) *toolscache.ListWatch {
	return &toolscache.ListWatch{
		ListWithContextFunc: func(_ context.Context, o metav1.ListOptions) (runtime.Object, error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			what := "list "
			if o.FieldSelector == nothing {
				what = "how far "
			}
			h.asked = append(h.asked, what+kind)
			return list(metav1.ListMeta{ResourceVersion: h.version}), nil
		},
		WatchFuncWithContext: func(_ context.Context, o metav1.ListOptions) (watch.Interface, error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			w := watch.NewFakeWithChanSize(2, false)
			switch {
			case o.SendInitialEvents != nil:
				h.asked = append(h.asked, "stream "+kind)
				end := example()
				m, _ := meta.Accessor(end) // it is an object
				m.SetResourceVersion(h.version)
				m.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
				w.Action(watch.Bookmark, end)
				h.watches = append(h.watches, w)
			case h.forgets && o.ResourceVersion != h.version:
				h.asked = append(h.asked, "watch "+kind)
				status := apierrors.NewResourceExpired("too old").Status()
				w.Error(&status)
			default:
				h.asked = append(h.asked, "watch "+kind)
				h.watches = append(h.watches, w)
			}
			return w, nil
		},
	}
}

// restart ends all watches, and has the hub be at a version.
func (h *hub) restart(version string, forgets bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.version, h.forgets, h.asked = version, forgets, nil
	for _, w := range h.watches {
		w.Stop()
	}
	h.watches = nil
}

// agent runs informers of Works and of Clusters by the same sources.
func (h *hub) agent(ctx context.Context, restored restores) *sync.WaitGroup {
	sources := NewSources(clock.RealClock{}, restored.tell)
	works := h.source("Works", func(m metav1.ListMeta) runtime.Object { return &workv1alpha1.WorkList{ListMeta: m} }, func() runtime.Object { return &workv1alpha1.Work{} })
	clusters := h.source("Clusters", func(m metav1.ListMeta) runtime.Object { return &clusterv1alpha1.ClusterList{ListMeta: m} }, func() runtime.Object { return &clusterv1alpha1.Cluster{} })
	var running sync.WaitGroup
	running.Go(func() { sources.informers(works, &workv1alpha1.Work{}, 0, toolscache.Indexers{}).RunWithContext(ctx) })
	running.Go(func() {
		sources.informers(clusters, &clusterv1alpha1.Cluster{}, 0, toolscache.Indexers{}).RunWithContext(ctx)
	})
	return &running
}

func TestAHubThatWasStartedAnewIsAskedLittle(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		version  string
		forgets  bool
		want     []string
		restored bool
	}{
		"started anew":               {version: "12", forgets: true, want: []string{"watch Works", "list Works", "watch Works", "stream Clusters"}},
		"cut off for a moment":       {version: "12", want: []string{"watch Works", "how far Works", "watch Clusters"}},
		"restored, and started anew": {version: "5", forgets: true, want: []string{"watch Works", "list Works", "watch Works", "stream Clusters"}, restored: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				h, restored := &hub{version: "7"}, newRestores()
				ctx, cancel := context.WithCancel(t.Context())
				running := h.agent(ctx, restored)
				time.Sleep(time.Minute) // a reflector lists anew after a watch that ended at once
				g.Expect(h.asked).To(ConsistOf("list Works", "watch Works", "stream Clusters"))

				h.restart(tc.version, tc.forgets)
				time.Sleep(time.Minute)
				synctest.Wait()

				// Clusters may have come first, which had to find it out then.
				g.Expect(slices.DeleteFunc(slices.Clone(h.asked), func(what string) bool { return tc.forgets && what == "watch Clusters" })).To(ConsistOf(tc.want))
				g.Expect(len(restored) > 0).To(Equal(tc.restored))
				cancel()
				running.Wait()
			})
		})
	}
}

func TestWatchesShareThatResumingDoesNotWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		h := &hub{version: "7"}
		sources := NewSources(clock.RealClock{}, nil)
		clusters := toolscache.ToListerWatcherWithContext(sources.Of(h.source("Clusters", nil, nil), &clusterv1alpha1.Cluster{}))
		works := toolscache.ToListerWatcherWithContext(sources.Of(h.source("Works", nil, nil), &workv1alpha1.Work{}))
		goOn := func(of toolscache.ListerWatcherWithContext) error {
			w, err := of.WatchWithContext(t.Context(), metav1.ListOptions{ResourceVersion: "7"})
			if err != nil {
				return err
			}
			defer w.Stop()
			select {
			case e := <-w.ResultChan():
				return apierrors.FromObject(e.Object)
			case <-time.After(checkAfter / 2):
				return nil
			}
		}
		g.Expect(goOn(works)).To(Succeed())
		g.Expect(goOn(clusters)).To(Succeed())

		h.restart("12", true)
		var both sync.WaitGroup
		both.Go(func() { g.Expect(goOn(works)).To(MatchError(apierrors.IsResourceExpired, "is expired")) })
		synctest.Wait()
		both.Go(func() { g.Expect(goOn(clusters)).To(MatchError(apierrors.IsResourceExpired, "is expired")) })
		both.Wait()
		g.Expect(h.asked).To(Equal([]string{"watch Works"}))

		g.Expect(goOn(works)).To(MatchError(apierrors.IsResourceExpired, "is expired"))
		g.Expect(h.asked).To(Equal([]string{"watch Works", "watch Works"}), "a list of Works is not made without need")
	})
}

// TestAWatchThatIsNotAnsweredHoldsTheOthersUpForSeconds covers proxies that forward nothing before the first event.
func TestAWatchThatIsNotAnsweredHoldsTheOthersUpForSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		sources := NewSources(clock.RealClock{}, nil)
		began := time.Now()
		sources.ask(t.Context(), true)
		sources.ask(t.Context(), false)
		g.Expect(time.Since(began)).To(BeZero(), "Works wait for nobody")
		asked := sources.ask(t.Context(), true)
		g.Expect(time.Since(began)).To(Equal(othersTimeout))

		go func() {
			time.Sleep(time.Second)
			asked()
		}()
		sources.ask(t.Context(), true)
		g.Expect(time.Since(began)).To(Equal(othersTimeout + time.Second))
		sources.ask(canceled(t), true)
		g.Expect(time.Since(began)).To(Equal(othersTimeout + time.Second))
	})
}

func TestAnAgentEndsWhenItsHubWasRestored(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	restored := newRestores()
	e := &presence.RestoredError{Whose: "hub", Left: "7", Found: "5"}
	restored.tell(e)
	restored.tell(e)
	g.Expect(restored.Start(t.Context())).To(MatchError(e))
	g.Expect(find[*presence.RestoredError](restored.Start(canceled(t)))).To(BeNil(), "it is told to stop")
}

func canceled(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
