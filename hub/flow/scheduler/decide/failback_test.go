package decide_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/quota"
	"fairlead.dev/hub/flow/scheduler/decide"
)

// pods gives a cluster capacity for n pods.
func pods(n int64) func(*clusterv1alpha1.Cluster) {
	return func(c *clusterv1alpha1.Cluster) {
		c.Status.ResourceSummary = &clusterv1alpha1.ResourceSummary{Allocatable: corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(n, resource.DecimalSI)}}
	}
}

// inShop makes a cluster's ResourceQuota leave n pods in the namespace shop.
func inShop(n int64) func(*clusterv1alpha1.Cluster) {
	return func(c *clusterv1alpha1.Cluster) {
		c.Status.NamespaceQuotas = []clusterv1alpha1.NamespaceQuota{{
			Namespace: "shop", Free: corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(n, resource.DecimalSI)},
		}}
	}
}

// overflowing is an application of 6 replicas that is meant for cluster a. It overflows first to b and c, then to d.
func overflowing(in *decide.Input) {
	byRoom(in)
	in.Spec.Replicas = 6
	in.Spec.Placement.ClusterAffinities = terms([]string{"a"})
	in.Spec.Placement.ClusterAffinities[0].OverflowAffinities = []policyv1alpha1.OverflowAffinityTerm{
		{AffinityName: "near", ClusterAffinity: *names("b", "c")}, {AffinityName: "far", ClusterAffinity: *names("d")},
	}
}

// ofPods adds a quota of n pods.
func ofPods(n int64) func(*decide.Input) {
	return func(in *decide.Input) {
		in.Quotas = []quota.Quota{{Namespace: "shop", Name: "pods", Overall: corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(n, resource.DecimalSI)}}}
	}
}

// shop sets the namespace of the template.
func shop(in *decide.Input) { in.Spec.Resource.Namespace = "shop" }

func target(name string, replicas int32) workv1alpha2.TargetCluster {
	return workv1alpha2.TargetCluster{Name: name, Replicas: replicas}
}

func TestFailback(t *testing.T) {
	t.Parallel()
	groups := func(in *decide.Input) {
		in.Spec.Placement.ClusterAffinities = terms([]string{"a"}, []string{"b", "c"})
		in.ObservedAffinity, in.ReturnToPreferred = "group-1", true
	}
	tests := map[string]struct {
		in         decide.Input
		want       targets
		wantLeaves []string
	}{
		"to a group with capacity": {
			in:   input(divided, groups, applied, has(target("b", 2))),
			want: targets{target("a", 2)}, wantLeaves: []string{"b"},
		},
		"not to a group that rejects it": {
			in: input(divided, groups, applied, has(target("b", 2)), with(member("a", tainted), member("b"))),
		},
		"not to a group with capacity if that is not requested": {
			in: input(divided, groups, applied, has(target("b", 2)), func(in *decide.Input) { in.ReturnToPreferred = false }),
		},
		"by an application for all clusters of its group": {
			in:   input(groups, applied, has(target("b", 2), target("c", 2)), with(member("a"), member("b"), member("c"))),
			want: targets{target("a", 2)}, wantLeaves: []string{"b", "c"},
		},
		"not while an eviction is under way": {
			in: input(divided, groups, applied, has(target("b", 2)), with(member("a"), member("b"), member("c", ready)), func(in *decide.Input) {
				in.Spec.GracefulEvictionTasks = []workv1alpha2.GracefulEvictionTask{{FromCluster: "c"}}
			}),
		},
		"although a copy is left in a silent cluster": {
			in: input(divided, groups, applied, has(target("b", 2)), func(in *decide.Input) {
				in.Spec.GracefulEvictionTasks = []workv1alpha2.GracefulEvictionTask{{FromCluster: "c"}}
			}),
			want: targets{target("a", 2)}, wantLeaves: []string{"b"},
		},
		"not by an application that moves with its state": {
			in: input(divided, groups, applied, has(target("b", 2)), func(in *decide.Input) {
				in.Spec.Failover = &policyv1alpha1.FailoverBehavior{Cluster: &policyv1alpha1.ClusterFailoverBehavior{
					StatePreservation: &policyv1alpha1.StatePreservation{Rules: make([]policyv1alpha1.StatePreservationRule, 1)},
				}}
			}),
		},
		"not by an application that purges the old copy first": {
			in: input(divided, groups, applied, has(target("b", 2)), func(in *decide.Input) {
				in.Spec.Failover = &policyv1alpha1.FailoverBehavior{Cluster: &policyv1alpha1.ClusterFailoverBehavior{PurgeMode: policyv1alpha1.PurgeDirectly}}
			}),
		},
		"under a lowered quota, of which it uses no more": {
			in:   input(divided, groups, applied, has(target("b", 2)), ofPods(1)),
			want: targets{target("a", 2)}, wantLeaves: []string{"b"},
		},
		"not beyond a quota": {
			in: input(groups, applied, has(target("c", 2)), with(member("a"), member("b"), member("c")), ofPods(2), func(in *decide.Input) {
				in.Spec.Placement.ClusterAffinities = terms([]string{"a", "b"}, []string{"c"})
				applied(in)
			}),
		},
		"all replicas in overflow clusters return": {
			in:   input(overflowing, applied, has(target("a", 2), target("b", 3), target("d", 1)), with(member("a", pods(4)), member("b", pods(0)), member("d", pods(9)))),
			want: targets{target("a", 6)}, wantLeaves: []string{"b", "d"},
		},
		"not where a ResourceQuota leaves nothing": {
			in: input(overflowing, applied, shop, has(target("a", 2), target("b", 3), target("d", 1)), with(member("a", pods(9), inShop(0)), member("b", pods(0)), member("d", pods(9)))),
		},
		"as much as a ResourceQuota leaves": {
			in:   input(overflowing, applied, shop, has(target("a", 2), target("b", 3), target("d", 1)), with(member("a", pods(9), inShop(3)), member("b", pods(0)), member("d", pods(9)))),
			want: targets{target("a", 3), target("b", 3)}, wantLeaves: []string{"d"},
		},
		"as much as fits, from the last tier first": {
			in:   input(overflowing, applied, has(target("a", 2), target("b", 3), target("d", 1)), with(member("a", pods(3)), member("b", pods(0)), member("d", pods(9)))),
			want: targets{target("a", 3), target("b", 3)}, wantLeaves: []string{"d"},
		},
		"to a nearer tier if the regular clusters are full": {
			in:   input(overflowing, applied, has(target("a", 2), target("d", 4)), with(member("a", pods(1)), member("b", pods(2)), member("c", pods(2)), member("d", pods(9)))),
			want: targets{target("a", 3), target("b", 2), target("c", 1)}, wantLeaves: []string{"d"},
		},
		"no share that would have to be split": {
			in: input(overflowing, applied, has(target("a", 2), target("b", 4)), with(member("a", pods(3)), member("b", pods(9)))),
		},
		"not between clusters of the same tier": {
			in: input(overflowing, applied, has(target("a", 2), target("b", 4)), with(member("a", pods(0)), member("b", pods(0)), member("c", pods(9)))),
		},
		"not if the policy says that it stays": {
			in: input(overflowing, applied, has(target("a", 2), target("b", 4)), with(member("a", pods(9)), member("b", pods(9))), func(in *decide.Input) { in.StayInOverflow = true }),
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			before := decide.Decide(tt.in)
			g.Expect(before.FailbackReason != "").To(Equal(tt.want != nil))
			g.Expect(before.NotPreferred || before.FailbackReason == "").To(BeTrue(), "a failback implies NotPreferred")
			g.Expect(before.Leave).To(BeEmpty())
			g.Expect(before.Targets).To(BeComparableTo(tt.in.Spec.Clusters), "targets do not move before the failback is due")
			tt.in.FailbackDue = true
			got := decide.Decide(tt.in)
			if tt.want == nil {
				g.Expect(got.Targets).To(BeComparableTo(tt.in.Spec.Clusters))
				g.Expect(got.Leave).To(BeEmpty())
				return
			}
			g.Expect(got.Outcome).To(Equal(decide.Scheduled))
			g.Expect(got.Trigger).To(Equal(decide.TriggerPreferred))
			g.Expect(got.Affinity).To(Equal("group-0"))
			g.Expect(got.Targets).To(BeComparableTo(tt.want))
			var leaves []string
			for _, l := range got.Leave {
				leaves = append(leaves, l.Cluster)
			}
			g.Expect(leaves).To(Equal(tt.wantLeaves))
		})
	}
}

func TestNotPreferred(t *testing.T) {
	t.Parallel()
	full := with(member("a", pods(0)), member("b", pods(9)))
	groups := func(in *decide.Input) {
		byRoom(in)
		in.Spec.Placement.ClusterAffinities = terms([]string{"a"}, []string{"b"})
		in.ReturnToPreferred = true
	}
	stays := func(in *decide.Input) { in.ReturnToPreferred, in.StayInOverflow = false, true }
	tests := map[string]struct {
		in   decide.Input
		want bool
	}{
		"placed in the second group":            {in: input(groups, full), want: true},
		"in the second group by choice":         {in: input(groups, full, stays)},
		"placed in the first group":             {in: input(groups, with(member("a", pods(9))))},
		"overflowed":                            {in: input(overflowing, full), want: true},
		"overflowed, and stays there by policy": {in: input(overflowing, full, stays)},
		"overflowed before, and kept":           {in: input(overflowing, full, applied, has(target("b", 6))), want: true},
		"not overflowed":                        {in: input(overflowing, with(member("a", pods(9)), member("b", pods(9))))},
		"of one group":                          {in: input(divided, with(member("a")))},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			got := decide.Decide(tt.in)
			g.Expect(got.Targets).NotTo(BeEmpty())
			g.Expect(got.NotPreferred).To(Equal(tt.want))
		})
	}
}

func TestDecisionFromScratchLeavesGracefully(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	got := decide.Decide(input(divided, applied, has(target("b", 1), target("c", 1), target("d", 1), target("gone", 1)), with(member("a"), member("b"), member("c"), member("d")), func(in *decide.Input) {
		in.Spec.Placement.ClusterAffinity = names("a", "b", "c")
		in.Spec.RescheduleTriggeredAt = &metav1.Time{Time: in.LastScheduled.Add(time.Second)}
	}))
	g.Expect(got.Targets).To(BeComparableTo(targets{target("a", 1), target("b", 1)}))
	g.Expect(got.Leave).To(HaveLen(1), "deleted clusters and clusters that are no longer selected are not left gracefully")
	g.Expect(got.Leave[0].Cluster).To(Equal("c"))
}

func TestResourceQuotaBoundsShare(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	members := with(member("a", pods(9), inShop(2)), member("b", pods(3)), member("c", pods(9), inShop(0)), member("d", pods(9)))
	d := decide.Decide(input(overflowing, shop, members))
	g.Expect(d.Targets).To(BeComparableTo(targets{target("a", 2), target("b", 3), target("d", 1)}), "replicas that exceed a ResourceQuota overflow")
	limits := map[string]string{}
	for _, v := range d.Attempts[0].Verdicts {
		limits[v.Cluster] = v.Limit
	}
	g.Expect(limits).To(Equal(map[string]string{"a": "ResourceQuota: pods", "b": "pods", "c": "ResourceQuota: pods", "d": ""}))

	d = decide.Decide(input(overflowing, shop, with(member("a", pods(9), inShop(2)))))
	g.Expect(d.Outcome).To(Equal(decide.Unschedulable))
	g.Expect(d.Message).To(ContainSubstring("available replicas 2"))
}
