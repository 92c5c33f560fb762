package decide_test

import (
	"testing"

	. "github.com/onsi/gomega"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/hub/scheduler/decide"
	"fairlead.dev/hub/scheduler/filter"
)

func roomy(c *clusterv1alpha1.Cluster) {
	c.Status.ResourceSummary = &clusterv1alpha1.ResourceSummary{Allocatable: room("16", "64Gi")}
}

func TestWhatDoesNotFitStaysAndSaysHowMuch(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := input(byRoom, has(workv1alpha2.TargetCluster{Name: "a", Replicas: 1}), func(in *decide.Input) { in.Spec.Replicas = 200 }, with(member("a", roomy), member("b")))
	got := decide.Decide(in)
	g.Expect(got.Outcome).To(Equal(decide.Unschedulable))
	g.Expect(got.Targets).To(Equal(in.Spec.Clusters))
	g.Expect(got.Message).To(ContainSubstring("Clusters available replicas 110 are not enough to schedule. 199 are wanted: 89 too few fit."))
	g.Expect(got.Attempts[0].Verdicts[0].Capacity.Limit).To(Equal("pods"))
}

func TestATargetThatIsNotPickedAnyMoreIsLeft(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	got := decide.Decide(input(byRoom, func(in *decide.Input) {
		in.Spec.Placement.ClusterAffinity = &policyv1alpha1.ClusterAffinity{ExcludeClusters: []string{"b"}}
	}, applied, has(workv1alpha2.TargetCluster{Name: "a", Replicas: 1}, workv1alpha2.TargetCluster{Name: "b", Replicas: 1}),
		with(member("a", roomy), member("b", roomy))))
	g.Expect(got.Trigger).To(Equal(decide.TriggerTargetUnfit))
	g.Expect(got.Targets).To(BeComparableTo(targets{{Name: "a", Replicas: 2}}))
}

func TestAPreferredGroupIsGoneBackToIfThePolicySaysSo(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := input(divided, func(in *decide.Input) {
		in.Spec.Placement.ClusterAffinities = terms([]string{"a"}, []string{"b"})
		in.ObservedAffinity, in.ReturnToPreferred = "group-1", true
	}, applied, has(workv1alpha2.TargetCluster{Name: "b", Replicas: 2}))
	got := decide.Decide(in)
	g.Expect(got.Trigger).To(Equal(decide.TriggerPreferred))
	g.Expect(got.Targets).To(BeComparableTo(targets{{Name: "a", Replicas: 2}}))

	tainted(in.Clusters[0])
	g.Expect(decide.Decide(in).Outcome).To(Equal(decide.Keep))
}

func TestAClusterWithoutTheLabelIsRefusedByItsName(t *testing.T) {
	t.Parallel()
	got := decide.Decide(input(func(in *decide.Input) {
		in.Spec.Placement.SpreadConstraints = []policyv1alpha1.SpreadConstraint{{SpreadByLabel: "rack"}}
	}))
	v := got.Attempts[0].Verdicts[0]
	NewWithT(t).Expect([]string{v.Filter, v.Reason}).To(Equal([]string{filter.SpreadConstraint, "cluster(s) did not have label rack"}))
}
