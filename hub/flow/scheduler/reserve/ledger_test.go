package reserve_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/hub/flow/scheduler/reserve"
	"fairlead.dev/test/builder"
)

var (
	web = types.NamespacedName{Namespace: "shop", Name: "web"}
	api = types.NamespacedName{Namespace: "shop", Name: "api"}
	now = time.Unix(1000, 0)
)

func on(replicas int32) []workv1alpha2.TargetCluster {
	return []workv1alpha2.TargetCluster{{Name: "m", Replicas: replicas}}
}

func counting(pods int64) *clusterv1alpha1.Cluster {
	c := builder.MakeCluster("m").Obj()
	c.Status.ResourceSummary = &clusterv1alpha1.ResourceSummary{
		Allocated: corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(pods, resource.DecimalSI)},
	}
	return c
}

func TestNegativeRequestFreesNothing(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	l := reserve.New()
	l.Assign(web, nil, on(4), corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("-1k"), corev1.ResourceMemory: resource.MustParse("1Gi")}, now)
	l.Assign(api, nil, on(2), corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}, now)
	got := l.All(now).Of("m")
	g.Expect(got.Pods).To(BeEquivalentTo(6))
	g.Expect(got.Resources.Cpu().String()).To(Equal("2"))
	g.Expect(got.Resources.Memory().String()).To(Equal("4Gi"))
	l.Forget(web)
	got = l.All(now).Of("m")
	g.Expect(got.Resources.Cpu().String()).To(Equal("2"), "releasing a negative request does not change the sum")
}

func TestLedger(t *testing.T) {
	t.Parallel()
	cpu := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m")}
	tests := map[string]struct {
		do   func(*reserve.Ledger)
		at   time.Duration
		want int64
	}{
		"what was assigned is reserved":              {do: func(*reserve.Ledger) {}, want: 4},
		"an increase reserves what is added":         {do: func(l *reserve.Ledger) { l.Assign(web, on(4), on(6), cpu, now) }, want: 6},
		"a decrease releases what is removed":        {do: func(l *reserve.Ledger) { l.Assign(web, on(4), on(1), cpu, now) }, want: 1},
		"a first report releases nothing":            {do: func(l *reserve.Ledger) { l.Report(counting(50)) }, want: 4},
		"a report of the same pods releases nothing": {do: func(l *reserve.Ledger) { l.Report(counting(50)); l.Report(counting(50)) }, want: 4},
		"reported pods are released":                 {do: func(l *reserve.Ledger) { l.Report(counting(50)); l.Report(counting(53)) }, want: 1},
		"no more is released than is reserved":       {do: func(l *reserve.Ledger) { l.Report(counting(0)); l.Report(counting(53)) }, want: 0},
		"the oldest reservation is released first": {do: func(l *reserve.Ledger) {
			l.Assign(api, nil, on(3), cpu, now)
			l.Report(counting(0))
			l.Report(counting(5))
			l.Forget(api)
		}, want: 0},
		"a deleted binding has no reservations": {do: func(l *reserve.Ledger) { l.Assign(api, nil, on(3), cpu, now); l.Forget(web) }, want: 3},
		"a deleted cluster has no reservations": {do: func(l *reserve.Ledger) { l.Leave("m") }, want: 0},
		"an earlier assignment expires earlier, although it was recorded later": {do: func(l *reserve.Ledger) {
			l.Assign(api, nil, on(3), cpu, now.Add(-time.Minute))
		}, at: reserve.Lifetime - time.Minute, want: 4},
		"a reservation expires after its lifetime": {do: func(*reserve.Ledger) {}, at: reserve.Lifetime, want: 0},
		"a reservation lasts until then":           {do: func(*reserve.Ledger) {}, at: reserve.Lifetime - 1, want: 4},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			l := reserve.New()
			l.Assign(web, nil, on(4), cpu, now)
			tt.do(l)
			got := l.All(now.Add(tt.at)).Of("m")
			g.Expect(got.Pods).To(Equal(tt.want))
			g.Expect(got.Resources.Cpu().MilliValue()).To(Equal(tt.want * 500))
		})
	}
}

// TestReservedAndReportedAddUp makes bursts of assignments whose pods are reported later, in any order. At any time, the reserved
// and the reported pods must add up to what was assigned.
func TestReservedAndReportedAddUp(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	random := rand.New(rand.NewPCG(7, 7))
	for range 200 {
		l := reserve.New()
		l.Report(counting(0))
		var assigned, running int64
		shares := map[int]int32{}
		for range 40 {
			if random.IntN(2) == 0 {
				i, more := random.IntN(5), 1+random.Int32N(9)
				name := types.NamespacedName{Name: fmt.Sprint(i)}
				l.Assign(name, on(shares[i]), on(shares[i]+more), nil, now)
				shares[i] += more
				assigned += int64(more)
			} else {
				running += random.Int64N(assigned - running + 1)
				l.Report(counting(running))
			}
			g.Expect(l.All(now).Of("m").Pods + running).To(Equal(assigned))
		}
	}
}

func TestForgetReturnsWhetherAnythingWasReserved(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	l := reserve.New()
	l.Assign(web, nil, on(4), nil, now)
	g.Expect(l.Forget(api)).To(BeFalse())
	g.Expect(l.Forget(web)).To(BeTrue())
	g.Expect(l.Forget(web)).To(BeFalse())
}

func TestReturnedReservationsAreImmutable(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	l := reserve.New()
	l.Assign(web, nil, on(1), corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}, now)
	before := l.All(now).Of("m")
	l.Assign(api, nil, on(1), corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("3")}, now)
	g.Expect(before.Resources.Cpu().Value()).To(BeEquivalentTo(2))
	after := l.All(now).Of("m")
	g.Expect(after.Resources.Cpu().Value()).To(BeEquivalentTo(5))
}

func TestMissing(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := &workv1alpha2.ResourceBinding{}
	for _, name := range []string{"silent", "starting", "well", "wordless", "more"} {
		b.Spec.Clusters = append(b.Spec.Clusters, workv1alpha2.TargetCluster{Name: name, Replicas: 4})
	}
	item := func(cluster, status string, health workv1alpha1.ResourceHealth) workv1alpha2.AggregatedStatusItem {
		out := workv1alpha2.AggregatedStatusItem{ClusterName: cluster, Health: health}
		if status != "" {
			out.Status = &runtime.RawExtension{Raw: []byte(status)}
		}
		return out
	}
	b.Status.AggregatedStatus = []workv1alpha2.AggregatedStatusItem{
		item("starting", `{"replicas":3,"readyReplicas":1}`, workv1alpha1.Unhealthy),
		item("well", "", workv1alpha1.Healthy),
		item("wordless", `"?"`, workv1alpha1.Unknown),
		item("more", `{"replicas":7}`, workv1alpha1.Unknown),
	}
	g.Expect(reserve.Missing(b)).To(Equal([]workv1alpha2.TargetCluster{
		{Name: "silent", Replicas: 4}, {Name: "starting", Replicas: 1}, {Name: "wordless", Replicas: 4},
	}))
}

// BenchmarkBurst measures one assignment while many others are not reported yet.
func BenchmarkBurst(b *testing.B) {
	for _, open := range []int{100, 10_000} {
		b.Run(fmt.Sprint(open), func(b *testing.B) {
			l := reserve.New()
			cpu := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m"), corev1.ResourceMemory: resource.MustParse("1Gi")}
			for i := range open {
				l.Assign(types.NamespacedName{Name: fmt.Sprint(i)}, nil, on(1), cpu, now)
			}
			b.ReportAllocs()
			for b.Loop() {
				l.All(now)
			}
		})
	}
}

// BenchmarkIdle measures one decision on a hub with many clusters, one of which has a reservation.
func BenchmarkIdle(b *testing.B) {
	l := reserve.New()
	for i := range 5000 {
		c := counting(50)
		c.Name = fmt.Sprint(i)
		l.Report(c)
	}
	l.Assign(web, nil, []workv1alpha2.TargetCluster{{Name: "7", Replicas: 1}}, nil, now)
	b.ReportAllocs()
	for b.Loop() {
		l.All(now)
	}
}

func TestReservationsAreCountedByNamespace(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	cpu := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m")}
	l := reserve.New()
	other := types.NamespacedName{Namespace: "other", Name: "web"}
	l.Assign(web, nil, on(4), cpu, now)
	l.Assign(other, nil, on(1), nil, now.Add(time.Second))
	l.Assign(api, nil, on(2), cpu, now.Add(2*time.Second))
	before := l.All(now).Of("m")
	g.Expect(before.Pods).To(BeEquivalentTo(7))
	g.Expect(before.Namespaces["shop"].Pods).To(BeEquivalentTo(6))
	reserved := before.Namespaces["shop"].Resources
	g.Expect(reserved.Cpu().String()).To(Equal("3"))
	g.Expect(before.Namespaces["other"].Pods).To(BeEquivalentTo(1))

	l.Report(counting(10))
	l.Report(counting(15))
	after := l.All(now).Of("m")
	g.Expect(after.Namespaces["shop"].Pods).To(BeEquivalentTo(2), "reported pods are released")
	g.Expect(after.Namespaces).NotTo(HaveKey("other"))
	g.Expect(before.Namespaces).To(HaveKey("other"), "reservations that were returned do not change")
	l.Forget(api)
	after = l.All(now).Of("m")
	g.Expect(after).To(BeZero())
}

// BenchmarkForget measures the deletion of a binding when many clusters have reservations of other bindings.
func BenchmarkForget(b *testing.B) {
	l := reserve.New()
	for i := range 20_000 {
		l.Assign(types.NamespacedName{Namespace: "shop", Name: fmt.Sprint("app-", i)}, nil, []workv1alpha2.TargetCluster{{Name: fmt.Sprint("edge-", i%2000), Replicas: 1}}, nil, now)
	}
	for b.Loop() {
		l.Assign(web, nil, on(4), nil, now)
		if !l.Forget(web) {
			b.Fatal("Forget found no reservations")
		}
	}
}
