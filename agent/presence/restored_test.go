package presence

import (
	"context"
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// answers is a member that answers one thing.
type answers struct {
	client.Reader

	resourceVersion string
	err             error
	asked           *client.ListOptions
}

// Get implements client.Reader.
func (a *answers) Get(_ context.Context, _ client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	obj.SetResourceVersion(a.resourceVersion)
	return a.err
}

// List implements client.Reader.
func (a *answers) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	a.asked = (&client.ListOptions{}).ApplyOptions(opts)
	list.SetResourceVersion(a.resourceVersion)
	return a.err
}

// TestAMemberThatIsNotAsFarAsItsWatch covers a watch that continues with others' changes, while the object that
// changed last is as in the snapshot.
func TestAMemberThatIsNotAsFarAsItsWatch(t *testing.T) {
	t.Parallel()
	watch := Watch{Kind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Namespace: "shop", ResourceVersion: "100"}
	for name, tc := range map[string]struct {
		now      string
		err      error
		restored bool
	}{
		"as far":                                {now: "100"},
		"farther":                               {now: "2000"},
		"not as far":                            {now: "95", restored: true},
		"a member that does not answer":         {now: "95", err: context.DeadlineExceeded},
		"versions that nobody can compare stay": {now: ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			member := &answers{resourceVersion: tc.now, err: tc.err}
			newest := func() (Seen, bool) { return Seen{}, false }
			furthest := func() (Watch, bool) { return watch, true }
			cl := clocktesting.NewFakeClock(time.Unix(0, 0))
			detector := &restoreDetector{reader: member, newest: newest, furthest: furthest, interval: 1 << 40, clock: cl}
			if tc.restored {
				g.Expect(detector.Start(t.Context())).To(Equal(&RestoredError{Whose: "member", Left: "100", Found: tc.now}))
			} else {
				g.Expect(detector.compareWatch(t.Context(), watch)).To(Succeed())
			}
			g.Expect(member.asked.Namespace).To(Equal("shop"))
			g.Expect(member.asked.Limit).To(Equal(int64(1)))
			g.Expect(member.asked.Raw).To(BeNil(), "no version is named")
		})
	}
}

// TestAMemberThatIsNotAsFarAsItSaidLast covers a member that no informer watches any more, and that advances by
// others' changes until it is restored.
func TestAMemberThatIsNotAsFarAsItSaidLast(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ended := Watch{Kind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, ResourceVersion: "100"}
	other := Watch{Kind: schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, ResourceVersion: "100"}
	member := &answers{}
	detector := &restoreDetector{reader: member, interval: 1 << 40}
	for _, s := range []struct {
		watch    Watch
		now      string
		err      error
		restored bool
	}{
		{watch: ended, now: "500"},
		{watch: ended, now: "x"},
		{watch: ended, now: "700"},
		{watch: ended, now: "300", err: context.DeadlineExceeded},
		{watch: ended, now: "300", restored: true},
		{watch: other, now: "300"}, // it may be kept elsewhere, with versions of its own
	} {
		member.resourceVersion, member.err = s.now, s.err
		g.Expect(detector.compareWatch(t.Context(), s.watch) != nil).To(Equal(s.restored), "%v", s)
	}
}

func TestAMemberThatIsOlderThanItWas(t *testing.T) {
	t.Parallel()
	seen := Seen{
		Kind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"},
		Name: types.NamespacedName{Namespace: "shop", Name: "web"}, ResourceVersion: "100",
	}
	other := seen
	other.ResourceVersion = "101"
	gone := apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, "web")
	unserved := &apierrors.StatusError{ErrStatus: metav1.Status{
		Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound, Message: "the server could not find the requested resource",
	}}
	type step struct {
		seen     Seen
		now      string
		err      error
		restored bool
	}
	for name, steps := range map[string][]step{
		"as it was":                             {{seen: seen, now: "100"}, {seen: seen, now: "100"}},
		"newer":                                 {{seen: seen, now: "2000"}},
		"older":                                 {{seen: seen, now: "99", restored: true}},
		"gone, and nobody was told":             {{seen: seen, err: gone}, {seen: seen, err: gone, restored: true}},
		"of a kind whose definition is gone":    {{seen: seen, err: unserved}, {seen: seen, err: unserved}},
		"just deleted, and made again by us":    {{seen: seen, err: gone}, {seen: other, now: "101"}, {seen: other, err: gone}},
		"gone, back, and gone":                  {{seen: seen, err: gone}, {seen: seen, now: "100"}, {seen: seen, err: gone}},
		"a member that does not answer":         {{seen: seen, err: context.DeadlineExceeded}, {seen: seen, err: context.DeadlineExceeded}},
		"versions that nobody can compare stay": {{seen: seen, now: "x"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			member := &answers{}
			detector := &restoreDetector{reader: member, interval: 1 << 40}
			for _, s := range steps {
				member.resourceVersion, member.err = s.now, s.err
				err := detector.compare(t.Context(), s.seen)
				NewWithT(t).Expect(err != nil).To(Equal(s.restored))
			}
		})
	}
}
