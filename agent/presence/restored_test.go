package presence

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// answers is a member that answers one thing.
type answers struct {
	client.Reader

	resourceVersion string
	err             error
}

// Get implements client.Reader.
func (a *answers) Get(_ context.Context, _ client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	obj.SetResourceVersion(a.resourceVersion)
	return a.err
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
