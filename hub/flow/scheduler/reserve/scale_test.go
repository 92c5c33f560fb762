package reserve

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/hub/flow/scheduler/fit"
)

// TestOnlyClustersWithReservationsAreLookedAt plays assignments, reports, clusters that leave and come back, and time that passes:
// what is reserved is what a look at the accounts of all clusters finds, though it is only looked at those that may have any.
func TestOnlyClustersWithReservationsAreLookedAt(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	const clusters = 40
	random := rand.New(rand.NewPCG(17, 3))
	name := func() string { return fmt.Sprintf("edge-%d", random.IntN(clusters)) }
	binding := func() types.NamespacedName {
		return types.NamespacedName{Namespace: "shop", Name: fmt.Sprint(random.IntN(9))}
	}
	l, now, pods := New(), time.Unix(1000, 0), int64(0)
	report := func(cluster string) {
		c := &clusterv1alpha1.Cluster{}
		c.Name = cluster
		c.Status.ResourceSummary = &clusterv1alpha1.ResourceSummary{Allocated: corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(pods, resource.DecimalSI)}}
		l.Report(c)
	}
	for i := range clusters {
		report(fmt.Sprintf("edge-%d", i))
	}
	g.Expect(l.All(now)).To(BeEmpty())
	g.Expect(l.reserving).To(BeEmpty(), "a report reserves nothing")
	for range 3000 {
		switch random.IntN(8) {
		case 0:
			pods += random.Int64N(3)
			report(name())
		case 1:
			l.Leave(name())
		case 2:
			l.Forget(binding())
		case 3:
			now = now.Add(time.Duration(random.Int64N(int64(Lifetime / 2))))
		case 4:
			l.Assign(binding(), []workv1alpha2.TargetCluster{{Name: name(), Replicas: 2}}, nil, nil, now)
		default:
			l.Assign(binding(), nil, []workv1alpha2.TargetCluster{{Name: name(), Replicas: random.Int32N(4)}}, nil, now)
		}
		got, want := l.All(now), map[string]fit.Assumed{}
		for cluster, a := range l.accounts {
			if a.expire(now); len(a.entries) > 0 {
				want[cluster] = a.sum
			}
		}
		g.Expect(got).To(BeComparableTo(want))
		g.Expect(l.reserving).To(HaveLen(len(want)), "the others are not looked at the next time")
	}
}
