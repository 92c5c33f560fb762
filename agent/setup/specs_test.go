package setup

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

// workOf returns a Work with an observed generation and a manifest; an empty manifest is one that was left out.
func workOf(uid types.UID, generation, observed int64, manifest string) *workv1alpha1.Work {
	work := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: uid, Generation: generation}}
	work.Status.ObservedGeneration = observed
	if manifest != "" {
		work.Spec.Workload.Manifests = []workv1alpha1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(manifest)}}}
	}
	return work
}

func TestManifestsThatWereLeftOutAreThoseThatAreKnown(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		events []watch.Event
		want   string // of the last event; empty if the watch ends
	}{
		"from the list": {[]watch.Event{
			{Type: watch.Modified, Object: workOf("listed", 1, 1, "")},
		}, "first"},
		"from the event that brought the generation": {[]watch.Event{
			{Type: watch.Modified, Object: workOf("listed", 2, 1, "second")},
			{Type: watch.Modified, Object: workOf("listed", 2, 2, "")},
		}, "second"},
		"again and again": {[]watch.Event{
			{Type: watch.Modified, Object: workOf("listed", 1, 1, "")},
			{Type: watch.Modified, Object: workOf("listed", 1, 1, "")},
		}, "first"},
		"from a hub that leaves out nothing": {[]watch.Event{
			{Type: watch.Modified, Object: workOf("listed", 1, 1, "first, in other words")},
			{Type: watch.Modified, Object: workOf("listed", 1, 1, "")},
		}, "first, in other words"},
		"of one that came": {[]watch.Event{
			{Type: watch.Added, Object: workOf("new", 1, 0, "another")},
			{Type: watch.Modified, Object: workOf("new", 1, 1, "")},
		}, "another"},
		"not of another one of that name": {[]watch.Event{
			{Type: watch.Modified, Object: workOf("new", 1, 1, "")},
		}, ""},
		"not of another generation": {[]watch.Event{
			{Type: watch.Modified, Object: workOf("listed", 2, 2, "")},
		}, ""},
		"not of one that is gone": {[]watch.Event{
			{Type: watch.Deleted, Object: workOf("listed", 1, 1, "first")},
			{Type: watch.Modified, Object: workOf("listed", 1, 1, "")},
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			hub := watch.NewFakeWithChanSize(len(tc.events), false)
			s := &specs{ListerWatcherWithContext: toolscache.ToListerWatcherWithContext(&toolscache.ListWatch{
				ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
					return &workv1alpha1.WorkList{Items: []workv1alpha1.Work{*workOf("listed", 1, 0, "first")}}, nil
				},
				WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return hub, nil },
			})}
			_, err := s.ListWithContext(t.Context(), metav1.ListOptions{})
			g.Expect(err).NotTo(HaveOccurred())
			events, err := s.WatchWithContext(t.Context(), metav1.ListOptions{})
			g.Expect(err).NotTo(HaveOccurred())
			defer events.Stop()
			var last watch.Event
			for _, event := range tc.events {
				hub.Action(event.Type, event.Object)
				last = <-events.ResultChan()
			}
			if tc.want == "" {
				g.Expect(last.Type).To(Equal(watch.Error))
				g.Expect(apierrors.IsResourceExpired(apierrors.FromObject(last.Object))).To(BeTrue(), "so that all is listed anew")
				return
			}
			work, _ := last.Object.(*workv1alpha1.Work)
			g.Expect(work).NotTo(BeNil())
			g.Expect(string(work.Spec.Workload.Manifests[0].Raw)).To(Equal(tc.want))
		})
	}
}

func TestALaterPageAddsToWhatIsKnown(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	page := workOf("first", 1, 1, "one")
	s := &specs{ListerWatcherWithContext: toolscache.ToListerWatcherWithContext(&toolscache.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			return &workv1alpha1.WorkList{Items: []workv1alpha1.Work{*page}}, nil
		},
	})}
	for _, o := range []metav1.ListOptions{{}, {Continue: "more"}} {
		_, err := s.ListWithContext(t.Context(), o)
		g.Expect(err).NotTo(HaveOccurred())
		page = workOf("second", 1, 1, "two")
	}
	g.Expect(s.known.of).To(HaveLen(2))
	_, err := s.ListWithContext(t.Context(), metav1.ListOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.known.of).To(And(HaveLen(1), HaveKey(types.UID("second"))), "another list has what there is")
}

func TestAWatchThatIsStoppedEnds(t *testing.T) {
	t.Parallel()
	hub := watch.NewFakeWithChanSize(3, false)
	whole := &wholeEvents{Interface: hub, result: make(chan watch.Event), stopped: make(chan struct{})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		whole.pass(&knownSpecs{of: map[types.UID]knownSpec{}})
	}()
	for range 3 { // that nobody takes
		hub.Add(workOf("new", 1, 0, "another"))
	}
	whole.Stop()
	whole.Stop()
	<-done
	for range whole.ResultChan() {
		t.Error("what was stopped says nothing more")
	}
}

func TestAWatchWhoseConnectionIsLostGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	for message, lists := range map[string]int{
		"unable to decode an event from the watch stream: " + connectionLost: 1,
		"unable to decode an event from the watch stream: invalid character": 2,
	} {
		synctest.Test(t, func(t *testing.T) {
			g := NewWithT(t)
			listed, again := 0, make(chan string, 2)
			hub := &toolscache.ListWatch{
				ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
					listed++
					return &workv1alpha1.WorkList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}}, nil
				},
				WatchFuncWithContext: func(_ context.Context, o metav1.ListOptions) (watch.Interface, error) {
					again <- o.ResourceVersion
					events := watch.NewFakeWithChanSize(2, false)
					if len(again) == 1 && listed == 1 {
						work := workOf("new", 1, 0, "first")
						work.ResourceVersion = "8"
						events.Add(work)
						events.Error(new(apierrors.NewInternalError(errors.New(message)).Status()))
					}
					return events, nil
				},
			}
			source := &specs{ListerWatcherWithContext: toolscache.ToListerWatcherWithContext(hub)}
			informer := toolscache.NewSharedIndexInformer(paged{newAnswering(source, NewSources(clock.RealClock{}, nil))}, &workv1alpha1.Work{}, 0, toolscache.Indexers{})
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() {
				defer close(done)
				informer.RunWithContext(ctx)
			}()
			time.Sleep(5 * time.Minute)
			cancel()
			<-done
			g.Expect(listed).To(Equal(lists), message)
			g.Expect(<-again).To(Equal("7"))
			if lists == 1 {
				g.Expect(<-again).To(Equal("8"), "from the last event on")
			}
		})
	}
}
