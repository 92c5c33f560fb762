package decide_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/hub/flow/scheduler/decide"
	"fairlead.dev/hub/flow/scheduler/fit"
)

func roomy(c *clusterv1alpha1.Cluster) {
	c.Status.ResourceSummary = &clusterv1alpha1.ResourceSummary{Allocatable: room("16", "64Gi")}
}

func TestUnschedulableKeepsTargetsAndReportsShortage(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := input(byRoom, has(workv1alpha2.TargetCluster{Name: "a", Replicas: 1}), func(in *decide.Input) { in.Spec.Replicas = 200 }, with(member("a", roomy), member("b")))
	got := decide.Decide(in)
	g.Expect(got.Outcome).To(Equal(decide.Unschedulable))
	g.Expect(got.Targets).To(Equal(in.Spec.Clusters))
	g.Expect(got.Message).To(ContainSubstring("Clusters available replicas 110 are not enough to schedule. 199 are needed: there is no room for 89 of them."))
	g.Expect(got.Attempts[0].Verdicts[0].Capacity.Limit).To(Equal("pods"))
}

func TestTargetNoLongerSelectedIsRemoved(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	got := decide.Decide(input(byRoom, func(in *decide.Input) {
		in.Spec.Placement.ClusterAffinity = &policyv1alpha1.ClusterAffinity{ExcludeClusters: []string{"b"}}
	}, applied, has(workv1alpha2.TargetCluster{Name: "a", Replicas: 1}, workv1alpha2.TargetCluster{Name: "b", Replicas: 1}),
		with(member("a", roomy), member("b", roomy))))
	g.Expect(got.Trigger).To(Equal(decide.TriggerTargetUnfit))
	g.Expect(got.Targets).To(BeComparableTo(targets{{Name: "a", Replicas: 2}}))
}

func TestMissingSpreadLabelIsReported(t *testing.T) {
	t.Parallel()
	got := decide.Decide(input(func(in *decide.Input) {
		in.Spec.Placement.SpreadConstraints = []policyv1alpha1.SpreadConstraint{{SpreadByLabel: "rack"}}
	}))
	v := got.Attempts[0].Verdicts[0]
	NewWithT(t).Expect([]string{v.Filter, v.Reason}).To(Equal([]string{fit.SpreadConstraint, "cluster(s) did not have label rack"}))
}

// TestTargetsStayWhenOnlyCapacityIsLacking checks that a group without any cluster does not remove the application from a cluster
// that has it.
func TestTargetsStayWhenOnlyCapacityIsLacking(t *testing.T) {
	t.Parallel()
	for name, ask := range map[string]func(*decide.Input){
		"failback to the preferred group": func(in *decide.Input) { in.ReturnToPreferred = true },
		"a decision from scratch": func(in *decide.Input) {
			in.Spec.RescheduleTriggeredAt = &metav1.Time{Time: in.LastScheduled.Add(time.Second)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			in := input(byRoom, func(in *decide.Input) {
				in.Spec.Placement.ClusterAffinities = terms([]string{"gone"}, []string{"b"})
				in.ObservedAffinity = "group-1"
			}, applied, has(workv1alpha2.TargetCluster{Name: "b", Replicas: 2}), with(member("b")), ask)
			in.Spec.Replicas = 5
			got := decide.Decide(in)
			g.Expect(got.Outcome).To(Equal(decide.Unschedulable))
			g.Expect(got.Targets).To(Equal(in.Spec.Clusters))
			g.Expect(got.Message).To(ContainSubstring("are not enough to schedule"))
		})
	}
}

func TestSpreadConstraintDefaultsToCluster(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := input(func(in *decide.Input) {
		in.Spec.Placement.SpreadConstraints = []policyv1alpha1.SpreadConstraint{{MinGroups: 1, MaxGroups: 1}}
	})
	got := decide.Decide(in)
	g.Expect(got.Targets).To(BeComparableTo(targets{{Name: "a", Replicas: 2}}))
	g.Expect(in.Spec.Placement.SpreadConstraints[0].SpreadByField).To(BeEmpty(), "Decide must not change its input")
	g.Expect(got.Placement).To(MatchJSON(`{"spreadConstraints":[{"minGroups":1,"maxGroups":1}]}`))
}

// TestUnfulfilledRequestStaysPending checks that a request for a decision from scratch stays pending while there is too little capacity,
// and is fulfilled when there is enough.
func TestUnfulfilledRequestStaysPending(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := input(byRoom, applied, has(target("b", 2)), with(member("a", pods(0)), member("b", pods(0))))
	in.Spec.Replicas = 5
	asked := metav1.NewTime(in.LastScheduled.Add(time.Second))
	in.Spec.RescheduleTriggeredAt = &asked
	got := decide.Decide(in)
	g.Expect([]any{got.Outcome, got.Trigger, got.Pending}).To(Equal([]any{decide.Unschedulable, decide.TriggerRequested, "1970-01-01T00:01:41Z"}))

	in.LastScheduled, in.Pending = &asked, got.Pending
	got = decide.Decide(in)
	g.Expect([]any{got.Outcome, got.Trigger, got.Pending}).To(Equal([]any{decide.Unschedulable, decide.TriggerRequested, in.Pending}))

	contradicting := in
	contradicting.Spec = in.Spec.DeepCopy()
	contradicting.Spec.Placement.ClusterAffinity, contradicting.Spec.Placement.ClusterAffinities = names("b"), terms([]string{"b"})
	g.Expect(decide.Decide(contradicting).Pending).To(Equal(in.Pending), "the request stays pending if the placement is refused")

	with(member("a", pods(9)), member("b", pods(0)))(&in)
	got = decide.Decide(in)
	g.Expect([]any{got.Outcome, got.Trigger, got.Pending}).To(Equal([]any{decide.Scheduled, decide.TriggerRequested, ""}))

	in.Pending = "1970-01-01T00:01:40Z"
	g.Expect(decide.Decide(in).Trigger).NotTo(Equal(decide.TriggerRequested), "a pending request with another time triggers nothing")
}
