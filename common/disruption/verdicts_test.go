package disruption

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/test/builder"
)

// region returns clusters, the given number of which have been silent since the given time.
func region(of, silent int, since time.Time) []*clusterv1alpha1.Cluster {
	out := make([]*clusterv1alpha1.Cluster, of)
	for i := range out {
		c := builder.MakeCluster(fmt.Sprintf("edge-%04d", i)).Obj()
		ready := metav1.Condition{Type: clusterv1alpha1.ClusterReady, Status: metav1.ConditionTrue, Reason: "ClusterReady", LastTransitionTime: metav1.NewTime(since)}
		if i < silent {
			ready.Status = metav1.ConditionUnknown
		}
		c.Status.Conditions = []metav1.Condition{ready}
		out[i] = c
	}
	return out
}

// TestOneVerdictIsMadeForAllWhoAsk checks that the verdict is shared, and made anew when a cluster changes and when
// time passes.
func TestOneVerdictIsMadeForAllWhoAsk(t *testing.T) {
	t.Parallel()
	g, ctx := NewWithT(t), t.Context()
	clusters, lists := region(4, 3, noon), 0
	var fails error
	v := NewVerdicts(func(context.Context) ([]*clusterv1alpha1.Cluster, error) {
		lists++
		return clusters, fails
	})
	for i := range 1000 {
		// Four goroutines ask, with clock readings that differ a little.
		verdict, err := v.Now(ctx, noon.Add(-time.Duration(i%4)*100*time.Millisecond))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(verdict.Silent).To(HaveLen(3))
	}
	g.Expect(lists).To(Equal(1))

	back := clusters[1].DeepCopy()
	back.ResourceVersion, back.Status.Conditions[0].Status = "2", metav1.ConditionTrue
	clusters[1] = back
	for range 2 {
		v.Outdate(back) // each controller reports the change
		verdict, err := v.Now(ctx, noon)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(verdict.Silent).To(BeEmpty(), "half of them is not most")
	}
	g.Expect(lists).To(Equal(2))

	_, err := v.Now(ctx, noon.Add(verdictLasts))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(lists).To(Equal(3), "time passes, too")
	_, err = v.Now(ctx, noon.Add(-time.Hour))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(lists).To(Equal(4), "a clock was put back")

	v.Gone(back)
	fails = errors.New("the cache is stopping")
	_, err = v.Now(ctx, noon.Add(-time.Hour))
	g.Expect(err).To(MatchError(fails))
	fails, clusters = nil, clusters[2:]
	verdict, err := v.Now(ctx, noon.Add(-time.Hour))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(verdict.Silent).To(BeEmpty())
	v.Outdate(back)
	_, err = v.Now(ctx, noon.Add(-time.Hour))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(lists).To(Equal(7), "it may be there again as it was")
}

// BenchmarkVerdictOnALostRegion measures what each application pays for the verdict when many clusters are silent,
// and the cost of one verdict.
func BenchmarkVerdictOnALostRegion(b *testing.B) {
	clusters := region(5000, 3000, noon)
	b.Run("made", func(b *testing.B) {
		for b.Loop() {
			Decide(clusters, noon)
		}
	})
	b.Run("shared", func(b *testing.B) {
		v := NewVerdicts(func(context.Context) ([]*clusterv1alpha1.Cluster, error) { return clusters, nil })
		for b.Loop() {
			if _, err := v.Now(b.Context(), noon); err != nil {
				b.Fatal(err)
			}
		}
	})
}
