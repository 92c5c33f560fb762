package reserve

import (
	"fmt"
	"math/rand/v2"
	"slices"
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

// TestAllVisitsOnlyClustersWithReservations makes random assignments and reports, removes clusters and lets time pass. The reservations
// must be those that the accounts of all clusters have, although only clusters with reservations are visited.
func TestAllVisitsOnlyClustersWithReservations(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	const clusters = 40
	random := rand.New(rand.NewPCG(17, 3))
	name := func() string { return fmt.Sprintf("edge-%d", random.IntN(clusters)) }
	binding := func() types.NamespacedName {
		return types.NamespacedName{Namespace: "shop", Name: fmt.Sprint(random.IntN(9))}
	}
	byCluster := func(r fit.Reservations) map[string]fit.Assumed {
		out := map[string]fit.Assumed{}
		for i := range clusters {
			cluster := fmt.Sprintf("edge-%d", i)
			if assumed := r.At(r.Place(cluster)); assumed != nil {
				out[cluster] = *assumed
			}
		}
		return out
	}
	half := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m")}
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
	g.Expect(byCluster(l.All(now))).To(BeEmpty())
	g.Expect(l.reserving).To(BeEmpty(), "a report reserves nothing")
	others, kept := 0, 0
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
			l.Assign(binding(), []workv1alpha2.TargetCluster{{Name: name(), Replicas: 2}}, nil, half, now)
		default:
			l.Assign(binding(), nil, []workv1alpha2.TargetCluster{{Name: name(), Replicas: random.Int32N(4)}}, half, now)
		}
		before, was := l.given, byCluster(l.given)
		got, want := l.All(now), map[string]fit.Assumed{}
		for cluster, a := range l.accounts {
			g.Expect(a.expire(now)).To(BeEmpty())
			if len(a.entries) > 0 {
				want[cluster] = added(a.entries)
			}
		}
		g.Expect(byCluster(got)).To(BeComparableTo(want))
		g.Expect(byCluster(before)).To(BeComparableTo(was), "reservations that were returned do not change")
		for cluster := range want {
			place, placeBefore := got.Place(cluster), before.Place(cluster)
			if now, then := got.At(place), before.At(placeBefore); now != then {
				others++
			} else {
				kept++
			}
		}
		g.Expect(l.reserving).To(HaveLen(len(want)), "only accounts with reservations are visited next time")
	}
	g.Expect(others).To(BeNumerically("<", kept/5), "objects are shared where nothing changed")
}

// added sums up entries independently of the ledger.
func added(entries []entry) fit.Assumed {
	sum := fit.Assumed{Namespaces: map[string]fit.Amount{}}
	for i := range entries {
		e := &entries[i]
		sum.Amount = plus(sum.Amount, e.request, e.replicas)
		sum.Namespaces[e.binding.Namespace] = plus(sum.Namespaces[e.binding.Namespace], e.request, e.replicas)
	}
	return sum
}

// TestGained changes the targets of a binding of which nothing is reported or reserved. The result must be the same as
// comparing each target with all previous ones, in any order of the targets.
func TestGained(t *testing.T) {
	t.Parallel()
	g, random := NewWithT(t), rand.New(rand.NewPCG(4, 1))
	targets := func() (out []workv1alpha2.TargetCluster) {
		for _, i := range random.Perm(6)[:random.IntN(7)] {
			out = append(out, workv1alpha2.TargetCluster{Name: fmt.Sprintf("edge-%d", i), Replicas: random.Int32N(3)})
		}
		return out
	}
	some := 0
	for range 2000 {
		b, before := &workv1alpha2.ResourceBinding{}, targets()
		b.Spec.Clusters = targets()
		whole := random.IntN(3) == 0
		if whole {
			b.Spec.Components = []workv1alpha2.Component{{Name: "head", Replicas: 1}, {Name: "worker", Replicas: 3}}
		}
		if random.IntN(4) == 0 {
			b.Spec.Clusters = slices.Clone(before)
		}
		var want []workv1alpha2.TargetCluster
		for _, target := range b.Spec.Clusters {
			had := slices.IndexFunc(before, func(t workv1alpha2.TargetCluster) bool { return t.Name == target.Name })
			switch {
			case whole && had < 0:
				want = append(want, workv1alpha2.TargetCluster{Name: target.Name})
			case whole:
			case had < 0 && target.Replicas > 0:
				want = append(want, target)
			case had >= 0 && target.Replicas > before[had].Replicas:
				want = append(want, workv1alpha2.TargetCluster{Name: target.Name, Replicas: target.Replicas - before[had].Replicas})
			}
		}
		g.Expect(New().Gained(b, before)).To(Equal(want), "%v after %v", b.Spec.Clusters, before)
		some += len(want)
	}
	g.Expect(some).To(BeNumerically(">", 1000))
}

// BenchmarkGained measures Gained for a binding that is in all clusters of a hub: when something other than its targets changed, and when
// it gets one more cluster.
func BenchmarkGained(b *testing.B) {
	for _, n := range []int{1250, 5000} {
		binding := &workv1alpha2.ResourceBinding{}
		for i := range n {
			binding.Spec.Clusters = append(binding.Spec.Clusters, workv1alpha2.TargetCluster{Name: fmt.Sprintf("edge-%05d", i), Replicas: 2})
		}
		for name, before := range map[string][]workv1alpha2.TargetCluster{
			"same targets": slices.Clone(binding.Spec.Clusters), "one more target": slices.Clone(binding.Spec.Clusters[1:]),
		} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				l := New()
				b.ReportAllocs()
				for b.Loop() {
					l.Gained(binding, before)
				}
			})
		}
	}
}
