package setup

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"fairlead.dev/agent/presence"
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
				informer := pagedInformers(clock.RealClock{}, restored.tell)(source, &workv1alpha1.Work{}, 0, toolscache.Indexers{})
				ctx, cancel := context.WithCancel(t.Context())
				var done sync.WaitGroup
				done.Go(func() { informer.RunWithContext(ctx) })
				first := <-watches
				g.Expect(asked).To(BeEmpty(), "a watch that begins where the list was needs no question")

				version = tc.version
				time.Sleep(time.Minute) // an informer lists anew what ended at once
				first.Stop()
				time.Sleep(time.Minute)
				synctest.Wait()

				g.Expect(asked).To(Equal([]string{tc.version}))
				if tc.want != nil {
					g.Expect(restored).To(Receive(Equal(tc.want)))
					g.Expect(from).To(Equal([]string{"7", tc.version}), "it is listed anew")
				} else {
					g.Expect(restored).NotTo(Receive())
					g.Expect(from).To(Equal([]string{"7", "7"}))
				}
				cancel()
				done.Wait()
			})
		})
	}
}

func TestAnAgentEndsWhenItsHubWasRestored(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	restored := newRestores()
	e := &presence.RestoredError{Whose: "hub", Left: "7", Found: "5"}
	restored.tell(e)
	restored.tell(e)
	g.Expect(restored.Start(t.Context())).To(MatchError(e))
	g.Expect(restoredIn(restored.Start(canceled(t)))).To(BeNil(), "it is told to stop")
}

func canceled(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
