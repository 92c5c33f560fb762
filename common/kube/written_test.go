package kube

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

func TestTheLastVersionThatWasWritten(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := NewWritten[string, *workv1alpha1.Work](clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
	work := func(uid types.UID, version string) *workv1alpha1.Work {
		return &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{UID: uid, ResourceVersion: version}}
	}
	g.Expect(w.IsLast("k", work("u", "10"))).To(BeFalse())
	w.Put("k", work("u", "10"))
	g.Expect(w.IsLast("k", work("u", "10"))).To(BeTrue())
	g.Expect(w.IsLast("k", work("u", "9"))).To(BeFalse(), "somebody else's, before")
	g.Expect(w.IsLast("k", work("u", "11"))).To(BeFalse(), "somebody else's, after")
	g.Expect(w.IsLast("k", work("t", "10"))).To(BeFalse(), "another object of that name")
	g.Expect(w.IsLast("l", work("u", "10"))).To(BeFalse())
	w.Seen("k", work("u", "10"))
	g.Expect(w.IsLast("k", work("u", "10"))).To(BeFalse(), "it is forgotten")
}

func TestWritten(t *testing.T) {
	t.Parallel()
	work := func(uid, version string) *workv1alpha1.Work {
		return &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Name: "w", UID: types.UID(uid), ResourceVersion: version}}
	}
	cases := map[string]struct {
		then   func(*Written[string, *workv1alpha1.Work], *clocktesting.FakePassiveClock)
		cached *workv1alpha1.Work
		want   string
	}{
		"what was written is newer than what the cache shows":   {cached: work("u", "9"), want: "10"},
		"what was written is there though the cache has not it": {want: "10"},
		"the cache has caught up":                               {cached: work("u", "10"), want: "10"},
		"somebody else wrote after us":                          {cached: work("u", "11"), want: "11"},
		"a version that cannot be compared is believed":         {cached: work("u", "x"), want: "x"},
		"the watch showed it, and then it was gone": {
			then: func(w *Written[string, *workv1alpha1.Work], _ *clocktesting.FakePassiveClock) {
				w.Seen("k", work("u", "10"))
			},
		},
		"the watch showed an older one": {
			then: func(w *Written[string, *workv1alpha1.Work], _ *clocktesting.FakePassiveClock) {
				w.Seen("k", work("u", "9"))
			},
			want: "10",
		},
		"the watch showed its end": {
			then: func(w *Written[string, *workv1alpha1.Work], _ *clocktesting.FakePassiveClock) {
				w.Gone("k", work("u", "12"))
			},
		},
		"the watch showed the end of the one before": {
			then: func(w *Written[string, *workv1alpha1.Work], _ *clocktesting.FakePassiveClock) {
				w.Gone("k", work("t", "8"))
			},
			want: "10",
		},
		"the watch showed its end before the write was answered": {
			then: func(w *Written[string, *workv1alpha1.Work], _ *clocktesting.FakePassiveClock) {
				w.Gone("k", work("u", "12"))
				w.Put("k", work("u", "11"))
			},
		},
		"after a while the cache is believed": {
			then: func(_ *Written[string, *workv1alpha1.Work], c *clocktesting.FakePassiveClock) {
				c.SetTime(c.Now().Add(time.Minute))
			},
		},
		"nothing is known of another key": {
			then: func(w *Written[string, *workv1alpha1.Work], _ *clocktesting.FakePassiveClock) {
				w.Gone("other", work("u", "12"))
			},
			want: "10",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			c := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
			w := NewWritten[string, *workv1alpha1.Work](c)
			w.Put("k", work("u", "10"))
			if tc.then != nil {
				tc.then(w, c)
			}
			got, ok := w.Latest("k", tc.cached, tc.cached != nil)
			g.Expect(ok).To(Equal(tc.want != ""))
			if ok {
				g.Expect(got.ResourceVersion).To(Equal(tc.want))
			}
		})
	}
}

func TestWrittenHandsOutCopies(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := NewWritten[string, *workv1alpha1.Work](clocktesting.NewFakePassiveClock(time.Unix(1000, 0)))
	put := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Name: "w", ResourceVersion: "10"}}
	w.Put("k", put)
	put.Name = "changed"
	got, _ := w.Latest("k", nil, false)
	g.Expect(got.Name).To(Equal("w"))
	got.Name = "changed"
	got, _ = w.Latest("k", nil, false)
	g.Expect(got.Name).To(Equal("w"))
}

func TestWrittenForgetsInTime(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	w := NewWritten[int, *workv1alpha1.Work](c)
	for i := range 100 {
		w.Put(i, &workv1alpha1.Work{})
		w.Put(i, &workv1alpha1.Work{})
	}
	c.SetTime(c.Now().Add(time.Minute))
	w.Put(0, &workv1alpha1.Work{})
	g.Expect(w.objects).To(HaveLen(1))
	g.Expect(w.order).To(HaveLen(1))
}
