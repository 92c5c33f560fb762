package applications

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/hub/flow/detector/claim"
)

var since = time.Date(2026, 11, 1, 14, 2, 0, 0, time.UTC)

// clusters are a and b, which are heard from, and s, which is silent.
func clusters() Clusters {
	return Clusters{"a": {Fresh: true, Since: since}, "b": {Fresh: true, Since: since}, "s": {Since: since}}
}

func binding(change func(*workv1alpha2.ResourceBinding), targets ...string) *workv1alpha2.ResourceBinding {
	b := &workv1alpha2.ResourceBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-deployment", CreationTimestamp: metav1.NewTime(since)},
		Spec: workv1alpha2.ResourceBindingSpec{
			Resource: workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"}, Replicas: 3,
		},
	}
	for _, name := range targets {
		b.Spec.Clusters = append(b.Spec.Clusters, workv1alpha2.TargetCluster{Name: name, Replicas: 3})
	}
	if change != nil {
		change(b)
	}
	return b
}

func well(cluster string) workv1alpha2.AggregatedStatusItem {
	return workv1alpha2.AggregatedStatusItem{ClusterName: cluster, Applied: true, Health: workv1alpha1.Healthy}
}

func refusal(cluster string) workv1alpha2.AggregatedStatusItem {
	return workv1alpha2.AggregatedStatusItem{ClusterName: cluster, AppliedMessage: "denied", Health: workv1alpha1.Unknown}
}

func reports(items ...workv1alpha2.AggregatedStatusItem) func(*workv1alpha2.ResourceBinding) {
	return func(b *workv1alpha2.ResourceBinding) { b.Status.AggregatedStatus = items }
}

func both(changes ...func(*workv1alpha2.ResourceBinding)) func(*workv1alpha2.ResourceBinding) {
	return func(b *workv1alpha2.ResourceBinding) {
		for _, change := range changes {
			change(b)
		}
	}
}

func condition(kind string, status metav1.ConditionStatus, message string) func(*workv1alpha2.ResourceBinding) {
	return func(b *workv1alpha2.ResourceBinding) {
		b.Status.Conditions = append(b.Status.Conditions, metav1.Condition{Type: kind, Status: status, Message: message})
	}
}

// evicting is the condition of a binding that leaves cluster s.
func evicting(reason string) func(*workv1alpha2.ResourceBinding) {
	return func(b *workv1alpha2.ResourceBinding) {
		b.Status.Conditions = append(b.Status.Conditions, metav1.Condition{Type: workv1alpha2.BindingEvicting, Status: metav1.ConditionTrue, Reason: reason, Message: "Leaving s."})
	}
}

func TestTheWorstIsSaidFirst(t *testing.T) {
	t.Parallel()
	sick := workv1alpha2.AggregatedStatusItem{ClusterName: "b", Applied: true, Health: workv1alpha1.Unhealthy}
	unscheduled := condition(workv1alpha2.BindingScheduled, metav1.ConditionFalse, "0/3 clusters are available.")
	leave := func(clusters ...string) func(*workv1alpha2.ResourceBinding) {
		return func(b *workv1alpha2.ResourceBinding) {
			for _, cluster := range clusters {
				b.Spec.GracefulEvictionTasks = append(b.Spec.GracefulEvictionTasks, workv1alpha2.GracefulEvictionTask{
					FromCluster: cluster, Reason: "TaintUntolerated", PurgeMode: policyv1alpha1.PurgeGracefully,
				})
			}
		}
	}
	task := leave("b")
	cases := map[string]struct {
		b     *workv1alpha2.ResourceBinding
		state State
		why   string
		want  Counts
	}{
		"all is well": {
			binding(reports(well("a"), well("b")), "a", "b"), Healthy, "",
			Counts{Wanted: 2, Ready: 2, Applied: 2, Healthy: 2},
		},
		"one refuses, another is silent, a third is sick": {
			binding(reports(refusal("a"), sick, well("s")), "a", "b", "s"), Failing, "a: denied",
			Counts{Wanted: 3, Applied: 2, Healthy: 1, Unhealthy: 1, Failing: 1, Stale: 1},
		},
		"two refuse": {
			binding(reports(refusal("a"), refusal("b")), "a", "b"), Failing, "a: denied (and 1 more)",
			Counts{Wanted: 2, Failing: 2},
		},
		"one is not healthy": {
			binding(reports(well("a"), sick), "a", "b"), Unhealthy, "b: It is applied, but not healthy; its status in the cluster may say why.",
			Counts{Wanted: 2, Ready: 1, Applied: 2, Healthy: 1, Unhealthy: 1},
		},
		"one is not healthy, and its pods say why": {
			binding(reports(well("a"), workv1alpha2.AggregatedStatusItem{
				ClusterName: "b", Applied: true, Health: workv1alpha1.Unhealthy, Status: &runtime.RawExtension{Raw: []byte(`{"replicas":3,"readyReplicas":1}`)},
				PodReasons: []workv1alpha1.PodReason{
					{Reason: "CrashLoopBackOff", Container: "web", Terminated: "Error", ExitCode: new(int32(1)), Restarts: 12, Pods: 2, Pod: "web-1"},
					{Reason: "Unschedulable", Message: "0/3 nodes are available.", Pods: 1, Pod: "web-2"},
					{Reason: "Third", Pods: 1, Pod: "web-3"},
				},
			}), "a", "b"), Unhealthy,
			"b: It is applied, but not healthy: 1 of 3 ready. 2 pods: CrashLoopBackOff of container web, which ended with exit code 1 (Error) and was restarted 12 times. " +
				"1 pod: Unschedulable: 0/3 nodes are available.",
			Counts{Wanted: 2, Ready: 1, Applied: 2, Healthy: 1, Unhealthy: 1},
		},
		"what a silent cluster said counts as old": {
			binding(reports(well("a"), well("s")), "a", "s"), Stale,
			"s: The cluster has not been heard from since 2026-11-01T14:02:00Z; its last report is shown.",
			Counts{Wanted: 2, Ready: 1, Applied: 2, Healthy: 2, Stale: 1},
		},
		"a cluster that is gone": {
			binding(reports(well("a")), "a", "gone"), Stale, "gone: The hub has no such cluster any more.",
			Counts{Wanted: 2, Ready: 1, Applied: 1, Healthy: 1, Stale: 1},
		},
		"nobody has reported": {
			binding(nil, "a"), Waiting, "a: The cluster has not reported yet.", Counts{Wanted: 1},
		},
		"applied, and of its health nothing is known yet": {
			binding(reports(workv1alpha2.AggregatedStatusItem{ClusterName: "a", Applied: true, Health: workv1alpha1.Unknown}), "a"),
			Waiting, "a: It is applied; the cluster has not reported its health yet.",
			Counts{Wanted: 1, Applied: 1},
		},
		"no cluster fits": {binding(unscheduled), Unscheduled, "0/3 clusters are available.", Counts{}},
		"a refusal is worse than a schedule that failed": {
			binding(both(unscheduled, reports(refusal("a"))), "a"), Failing, "a: denied", Counts{Wanted: 1, Failing: 1},
		},
		"not scheduled yet": {binding(nil), Waiting, "It waits for its clusters to be chosen.", Counts{}},
		"scheduled to none": {
			binding(condition(workv1alpha2.BindingScheduled, metav1.ConditionTrue, "")), Unscheduled, "No cluster is chosen; see `hub explain`.", Counts{},
		},
		"suspended everywhere": {
			binding(func(b *workv1alpha2.ResourceBinding) {
				b.Spec.Suspension = &workv1alpha2.Suspension{Suspension: policyv1alpha1.Suspension{Dispatching: new(true)}}
			}, "a"), Suspended, "a: Delivery is suspended.", Counts{Wanted: 1},
		},
		"suspended in one cluster only": {
			binding(both(reports(well("a"), well("b")), func(b *workv1alpha2.ResourceBinding) {
				b.Spec.Suspension = &workv1alpha2.Suspension{Suspension: policyv1alpha1.Suspension{
					DispatchingOnClusters: &policyv1alpha1.SuspendClusters{ClusterNames: []string{"b"}},
				}}
			}), "a", "b"), Suspended, "b: Delivery is suspended.", Counts{Wanted: 2, Ready: 2, Applied: 2, Healthy: 2},
		},
		"a cluster keeps what it has": {
			binding(both(reports(well("a"), well("b")), condition(workv1alpha2.BindingRendered, metav1.ConditionFalse, "The override policies cannot be applied.")), "a", "b"),
			Failing, "The override policies cannot be applied.",
			Counts{Wanted: 2, Ready: 2, Applied: 2, Healthy: 2},
		},
		"leaving a cluster": {
			binding(both(reports(well("a"), well("b")), task), "a"), Moving,
			"b: It leaves for TaintUntolerated; the copy stays until the new one is healthy.",
			Counts{Wanted: 1, Ready: 1, Applied: 1, Healthy: 1, Leaving: 1},
		},
		"why it leaves is said by its condition": {
			binding(both(reports(well("a"), well("b")), task, condition(workv1alpha2.BindingEvicting, metav1.ConditionTrue, "It waits for a.")), "a"),
			Moving, "It waits for a.",
			Counts{Wanted: 1, Ready: 1, Applied: 1, Healthy: 1, Leaving: 1},
		},
		"a change that is on its way": {
			binding(both(reports(well("a"), well("b")), condition(workv1alpha2.BindingRollingOut, metav1.ConditionTrue, "Wave canary soaks.")), "a", "b"),
			RollingOut, "Wave canary soaks.",
			Counts{Wanted: 2, Ready: 2, Applied: 2, Healthy: 2},
		},
		"a cluster that is sick while a change is on its way": {
			binding(both(reports(well("a"), sick), condition(workv1alpha2.BindingRollingOut, metav1.ConditionTrue, "Wave canary soaks.")), "a", "b"),
			Unhealthy, "b: It is applied, but not healthy; its status in the cluster may say why.",
			Counts{Wanted: 2, Ready: 1, Applied: 2, Healthy: 1, Unhealthy: 1},
		},
		"well elsewhere, and a silent cluster keeps its copy until it is heard from": {
			binding(both(reports(well("a"), well("s")), leave("s"), evicting(workv1alpha2.ReasonWaitingForCluster)), "a"),
			Healthy, "Leaving s.",
			Counts{Wanted: 1, Ready: 1, Applied: 1, Healthy: 1, Leaving: 1},
		},
		"on its way from a silent cluster to another": {
			binding(both(reports(workv1alpha2.AggregatedStatusItem{ClusterName: "a", Applied: true}, well("s")), leave("s"), evicting(workv1alpha2.ReasonWaitingForCluster)), "a"),
			Moving, "Leaving s.",
			Counts{Wanted: 1, Applied: 1, Leaving: 1},
		},
		"not well where it goes from a silent cluster": {
			binding(both(reports(sick, well("s")), leave("s"), evicting(workv1alpha2.ReasonWaitingForCluster)), "b"),
			Unhealthy, "b: It is applied, but not healthy; its status in the cluster may say why.",
			Counts{Wanted: 1, Applied: 1, Unhealthy: 1, Leaving: 1},
		},
		"suspended where it goes from a silent cluster": {
			binding(both(reports(well("a"), well("s")), leave("s"), evicting(workv1alpha2.ReasonWaitingForCluster), func(b *workv1alpha2.ResourceBinding) {
				b.Spec.Suspension = &workv1alpha2.Suspension{Suspension: policyv1alpha1.Suspension{Dispatching: new(true)}}
			}), "a"),
			Suspended, "a: Delivery is suspended.",
			Counts{Wanted: 1, Ready: 1, Applied: 1, Healthy: 1, Leaving: 1},
		},
		"a silent cluster has to remove it before others get it": {
			binding(both(reports(well("a"), well("s")), leave("s"), evicting(workv1alpha2.ReasonWaitingForOldCopy)), "a"),
			Stale, "Leaving s.",
			Counts{Wanted: 1, Ready: 1, Applied: 1, Healthy: 1, Leaving: 1},
		},
		"leaving a silent cluster for none": {
			binding(both(reports(well("s")), leave("s"), evicting(workv1alpha2.ReasonWaitingForCluster))),
			Stale, "Leaving s.",
			Counts{Leaving: 1},
		},
		"leaving a silent cluster and one that is heard from": {
			binding(both(reports(well("a"), well("b"), well("s")), leave("b", "s")), "a"), Moving,
			"b: It leaves for TaintUntolerated; the copy stays until the new one is healthy. (and 1 more)",
			Counts{Wanted: 1, Ready: 1, Applied: 1, Healthy: 1, Leaving: 2},
		},
		"a silent cluster that still has it": {
			binding(reports(well("a"), well("s")), "a"), Healthy,
			"s: It is being removed from there. The cluster has not been heard from since 2026-11-01T14:02:00Z; its last report is shown.",
			Counts{Wanted: 1, Ready: 1, Applied: 1, Healthy: 1, Leaving: 1},
		},
		"its namespace is being deleted": {
			binding(both(reports(well("a")), func(b *workv1alpha2.ResourceBinding) {
				b.Status.Conditions = []metav1.Condition{{
					Type: workv1alpha2.BindingRendered, Status: metav1.ConditionFalse, Reason: workv1alpha2.ReasonNamespaceTerminating, Message: "Namespace \"shop\" is being deleted.",
				}}
			}), "a"), Deleting, "Namespace \"shop\" is being deleted.",
			Counts{Wanted: 1, Ready: 1, Applied: 1, Healthy: 1},
		},
		"a cluster that still has it": {
			binding(reports(well("a"), well("b")), "a"), Moving, "b: It is being removed from there.",
			Counts{Wanted: 1, Ready: 1, Applied: 1, Healthy: 1, Leaving: 1},
		},
		"deleted": {
			binding(func(b *workv1alpha2.ResourceBinding) { b.DeletionTimestamp = &metav1.Time{Time: since} }, "a"),
			Deleting, "It is being removed from its clusters.",
			Counts{Wanted: 1},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			before := tc.b.DeepCopy()
			a := Of(tc.b, clusters())
			g.Expect(a.State).To(Equal(tc.state))
			g.Expect(a.Why).To(Equal(tc.why))
			g.Expect(a.Counts).To(Equal(tc.want))
			g.Expect(tc.b).To(Equal(before), "nothing is changed")
		})
	}
}

func TestOf(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := binding(func(b *workv1alpha2.ResourceBinding) {
		claim.Set(b, claim.Claim{Namespace: "shop", Name: "web", ID: "id"})
		b.Spec.RequiredBy = []workv1alpha2.BindingSnapshot{{Namespace: "shop", Name: "other-deployment", Clusters: []workv1alpha2.TargetCluster{{Name: "b"}}}}
	}, "a")
	a := Of(b, clusters())
	g.Expect(a.String()).To(Equal("Deployment shop/web"))
	g.Expect(a.Policy).To(Equal(PolicyKey{Kind: "PropagationPolicy", Namespace: "shop", Name: "web"}))
	g.Expect(a.Follows).To(Equal([]string{"shop/other-deployment"}))
	g.Expect(a.Since).To(Equal(since))
	g.Expect(a.Places).To(HaveLen(2), "what it follows takes it along")
	g.Expect(a.Places[0].Replicas).To(Equal(int32(3)))

	g.Expect(Of(binding(nil), nil).Policy).To(BeZero())
	of := &workv1alpha2.ClusterResourceBinding{}
	claim.Set(of, claim.Claim{Name: "web", ID: "id"})
	g.Expect(Of(of, nil).Policy).To(Equal(PolicyKey{Kind: "ClusterPropagationPolicy", Name: "web"}))
	g.Expect(Template{Kind: "Namespace", Name: "shop"}.String()).To(Equal("Namespace shop"))
}

func TestFreshnessByCondition(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		status metav1.ConditionStatus
		reason string
		want   bool
	}{
		"ready":                             {metav1.ConditionTrue, clusterv1alpha1.ReasonClusterReady, true},
		"not ready, and its agent sees it":  {metav1.ConditionFalse, clusterv1alpha1.ReasonClusterNotReady, true},
		"its agent cannot reach it":         {metav1.ConditionFalse, clusterv1alpha1.ReasonClusterNotReachable, false},
		"silent":                            {metav1.ConditionUnknown, clusterv1alpha1.ReasonClusterStatusUnknown, false},
		"its agent has never been heard of": {"", "", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
			if tc.status != "" {
				c.Status.Conditions = []metav1.Condition{{Type: clusterv1alpha1.ClusterReady, Status: tc.status, Reason: tc.reason}}
			}
			NewWithT(t).Expect(ClustersOf([]clusterv1alpha1.Cluster{c})["a"].Fresh).To(Equal(tc.want))
		})
	}
}

func TestOrder(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	a := Application{Template: Template{Namespace: "a", Kind: "A", Name: "x"}, State: Healthy}
	b := Application{Template: Template{Namespace: "b", Kind: "A", Name: "x"}, State: Failing}
	g.Expect(Compare(a, b)).To(BeNumerically("<", 0))
	g.Expect(CompareBySeverity(b, a)).To(BeNumerically("<", 0))
	g.Expect(States()[0]).To(Equal(Failing))
}
