package evict

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/evictions"
	"fairlead.dev/test/builder"
)

// TestAnApplicationInThousandsOfClustersLeavesTenAtOnce checks that the record in the binding fits, and that it shows
// which clusters are the replacements: another unhealthy target does not hold up the eviction.
func TestAnApplicationInThousandsOfClustersLeavesTenAtOnce(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := given(duplicated, func(in *Input) { in.Spec.Clusters, in.Status.AggregatedStatus = nil, nil })
	name := func(i int) string { return fmt.Sprintf("a-cluster-with-a-name-of-40-letters-%04d", i) }
	add := func(name string, health workv1alpha1.ResourceHealth) {
		in.Clusters[name] = builder.MakeCluster(name).Obj()
		ready(name, metav1.ConditionTrue)(&in)
		in.Spec.Clusters = append(in.Spec.Clusters, target(name, 4))
		in.Status.AggregatedStatus = append(in.Status.AggregatedStatus, workv1alpha2.AggregatedStatusItem{ClusterName: name, Applied: true, Health: health})
		in.Works[name] = Work{Observed: true}
	}
	for i := range 5000 {
		add(name(i), workv1alpha1.Healthy)
	}
	in.Status.AggregatedStatus[4999].Health = workv1alpha1.Unhealthy
	for i := range 10 {
		taint(name(i))(&in)
	}
	b := &workv1alpha2.ResourceBinding{}
	write := func(d Decision) {
		past := Remember(&in, &d)
		in.Spec.Clusters, in.Spec.GracefulEvictionTasks = Apply(in.Spec, &d, in.Now)
		g.Expect(evictions.Set(b, past)).To(Succeed())
		g.Expect(validation.ValidateAnnotationsSize(b.Annotations)).To(Succeed())
		in.Past = evictions.Of(b)
	}
	d := Decide(in)
	g.Expect(d.Evictions).To(HaveLen(10))
	write(d)
	g.Expect(in.Spec.Clusters).To(HaveLen(4990))
	g.Expect(in.Spec.GracefulEvictionTasks).To(HaveLen(10))
	for _, e := range in.Past {
		g.Expect(e.Before).To(HaveLen(5000))
	}

	add("new", workv1alpha1.Unhealthy)
	in.Now = start.Add(time.Minute)
	g.Expect(Decide(in).Ended).To(BeEmpty())
	in.Status.AggregatedStatus[5000].Health = workv1alpha1.Healthy
	d = Decide(in)
	g.Expect(d.Ended).To(HaveLen(10))
	write(d)
	g.Expect(in.Spec.GracefulEvictionTasks).To(BeEmpty())
	for _, e := range in.Past {
		g.Expect(e.How).To(Equal(workv1alpha2.EvictionReplaced))
		g.Expect(e.To).To(Equal([]string{"new"}))
	}
}

// TestItIsNotKnownWhatWasBefore checks that, if a binding had no room to record its targets from before the eviction,
// the old copy stays until all targets are healthy or its grace period ends.
func TestItIsNotKnownWhatWasBefore(t *testing.T) {
	t.Parallel()
	moved := func(more ...func(*Input)) Input {
		in := given(append([]func(*Input){
			taint("edge-1"), task(), targets(target("edge-2", 2), target("edge-3", 2)), report("edge-3", workv1alpha1.Healthy, 2), now(60),
			func(in *Input) { in.Past = []workv1alpha2.Eviction{{From: "edge-1"}} },
		}, more...)...)
		return in
	}
	unhealthy := report("edge-2", workv1alpha1.Unhealthy, 0)
	known := func(in *Input) {
		in.Past[0].Before = []workv1alpha2.TargetCluster{target("edge-1", 2), target("edge-2", 2)}
	}
	uncounted := func(in *Input) {
		report("edge-2", workv1alpha1.Healthy, -1)(in)
		report("edge-3", workv1alpha1.Healthy, -1)(in)
	}
	back := func(in *Input) {
		in.Clusters["edge-1"].Spec.Taints = nil
		report("edge-1", workv1alpha1.Healthy, 2)(in)
		report("edge-3", workv1alpha1.Unhealthy, 0)(in)
	}
	tests := map[string]struct {
		in   Input
		want string
	}{
		"all are healthy": {moved(), workv1alpha2.EvictionReplaced},
		"one is not":      {moved(unhealthy), ""},
		"one is not that took no place, as is known":   {moved(unhealthy, known), workv1alpha2.EvictionReplaced},
		"one is not for long":                          {moved(unhealthy, now(601)), workv1alpha2.EvictionTimedOut},
		"that of a larger share may not be said":       {moved(uncounted, func(in *Input) { in.Works = nil }), ""},
		"that of a larger share is said":               {moved(uncounted, func(in *Input) { in.Works["edge-3"] = Work{Observed: true} }), workv1alpha2.EvictionReplaced},
		"nothing is withdrawn for one that is back":    {moved(back), ""},
		"but it is from where it went, as it is known": {moved(back, known), workv1alpha2.EvictionReturned},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			d := Decide(tt.in)
			if tt.want == "" {
				g.Expect(d.Ended).To(BeEmpty())
				return
			}
			g.Expect(d.Ended).To(HaveLen(1))
			g.Expect(d.Ended[0].How).To(Equal(tt.want))
		})
	}
}
