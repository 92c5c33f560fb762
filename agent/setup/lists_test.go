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
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

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
	informer := pagedInformers(clock.RealClock{}, nil)(source, &workv1alpha1.Work{}, 0, toolscache.Indexers{})
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
			pagedInformers(clock.RealClock{}, nil)(source, &workv1alpha1.Work{}, 0, toolscache.Indexers{}).RunWithContext(ctx)
		}()
		g.Expect(<-heard).To(BeTemporally("<=", back.Add(2*askAgain)))
		cancel()
		<-done
	})
}

func TestAnAnswerOfTheHubIsForTheInformer(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	gone := apierrors.NewResourceExpired("too old resource version")
	source := &toolscache.ListWatch{WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return nil, gone }}
	_, err := paged{toolscache.ToListerWatcherWithContext(source), clock.RealClock{}}.WatchWithContext(t.Context(), metav1.ListOptions{})
	g.Expect(err).To(MatchError(gone))
}
