package watchset

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	testingclock "k8s.io/utils/clock/testing"

	"fairlead.dev/common/kube"
)

func TestTheAPIIsAskedOnceForAllKinds(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	apps, metrics := schema.GroupVersion{Group: "apps", Version: "v1"}, schema.GroupVersion{Group: "metrics.k8s.io", Version: "v1"}
	lists := []*metav1.APIResourceList{
		{GroupVersion: "apps/v1beta1", APIResources: []metav1.APIResource{{Name: "deployments", Kind: "Deployment"}, {Name: "again", Kind: "Deployment"}}},
		{GroupVersion: "apps/v1", APIResources: []metav1.APIResource{{Name: "deployments", Kind: "Deployment"}, {Name: "deployments/scale", Kind: "Scale"}}},
	}
	var answer error
	asked := 0
	c := testingclock.NewFakePassiveClock(time.Now())
	served := NewServedKinds(func(context.Context) ([]*metav1.APIResourceList, error) {
		asked++
		return lists, answer
	}, c)
	check := func(kind schema.GroupVersionKind) error { return served.Check(t.Context(), kind) }

	g.Expect(check(apps.WithKind("Deployment"))).To(Succeed())
	for range 1000 {
		g.Expect(kube.IsUnserved(check(apps.WithKind("Gadget")))).To(BeTrue())
	}
	g.Expect(kube.IsUnserved(check(apps.WithKind("Scale")))).To(BeTrue(), "it is the kind of a subresource")
	g.Expect(check(apps.WithKind("deployMent"))).To(MatchError(`there is no kind "deployMent" in apps/v1, but "Deployment"`))
	g.Expect(asked).To(Equal(1))
	versions := func(group, kind string) []string {
		out, err := served.Versions(t.Context(), schema.GroupKind{Group: group, Kind: kind})
		g.Expect(err).NotTo(HaveOccurred())
		return out
	}
	g.Expect(versions("apps", "Deployment")).To(ConsistOf("v1", "v1beta1"))
	g.Expect(versions("apps", "Scale")).To(BeEmpty(), "it is the kind of a subresource")
	g.Expect(versions("batch", "Deployment")).To(BeEmpty())
	older := schema.GroupVersion{Group: "apps", Version: "v1beta1"}
	g.Expect(served.Preferred(t.Context(), older.WithKind("Deployment"), "")).To(Equal("apps/v1"))
	g.Expect(served.Preferred(t.Context(), older.WithKind("Gadget"), "")).To(Equal("apps/v1beta1"), "nobody knows better")
	g.Expect(served.Preferred(t.Context(), older.WithKind("Gadget"), "apps/v2")).To(Equal("apps/v2"), "nobody knows better")
	g.Expect(served.Preferred(t.Context(), older.WithKind("Gadget"), "batch/v1")).To(Equal("apps/v1beta1"), "that is another kind")
	c.SetTime(c.Now().Add(preferredFor - 1))
	g.Expect(served.Preferred(t.Context(), older.WithKind("Deployment"), "apps/v1beta1")).To(Equal("apps/v1"))
	g.Expect(asked).To(Equal(1), "not asked again so soon for what it said")

	lists[1].APIResources[0].Kind = "Gadget"
	lists = lists[1:]
	g.Expect(served.Preferred(t.Context(), apps.WithKind("Gadget"), "")).To(Equal("apps/v1"), "asked for what it has not said")
	g.Expect(check(apps.WithKind("Gadget"))).To(Succeed())
	g.Expect(kube.IsUnserved(check(apps.WithKind("Deployment")))).To(BeTrue(), "its definition is gone")

	// An aggregated API server that does not answer may serve the kind.
	answer = &discovery.ErrGroupDiscoveryFailed{Groups: map[schema.GroupVersion]error{metrics: errors.New("503")}}
	c.SetTime(c.Now().Add(servedFor))
	err := check(metrics.WithKind("PodMetrics"))
	g.Expect(err).To(HaveOccurred())
	g.Expect(kube.IsUnserved(err)).To(BeFalse())
	g.Expect(kube.IsUnserved(check(apps.WithKind("Deployment")))).To(BeTrue())

	answer = errors.New("no route to host")
	c.SetTime(c.Now().Add(servedFor))
	g.Expect(check(apps.WithKind("Gadget"))).To(Succeed(), "that is what it said last")
	g.Expect(check(apps.WithKind("Deployment"))).To(MatchError(answer))
	_, err = served.Versions(t.Context(), schema.GroupKind{Group: "apps", Kind: "Gadget"})
	g.Expect(err).To(MatchError(answer))
	g.Expect(asked).To(Equal(4))
	g.Expect(served.Preferred(t.Context(), apps.WithKind("Gadget"), "apps/v2")).To(Equal("apps/v1"), "as it said last")

	// A caller whose context ends while the API is asked on its behalf must not cause an error for others.
	gone, leave := context.WithCancel(t.Context())
	leave()
	answer = gone.Err()
	c.SetTime(c.Now().Add(servedFor))
	g.Expect(served.Check(gone, apps.WithKind("Deployment"))).To(MatchError(context.Canceled))
	answer = nil
	g.Expect(kube.IsUnserved(check(apps.WithKind("Deployment")))).To(BeTrue())
}
