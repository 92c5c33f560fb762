package decide_test

import (
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/flow/scheduler/decide"
	"fairlead.dev/hub/flow/scheduler/fit"
)

// allowed makes the namespace allow the clusters that a selector selects.
func allowed(text string) func(*decide.Input) {
	return func(in *decide.Input) {
		in.Allowance = selector.AllowanceOf(&metav1.ObjectMeta{Name: "shop", Annotations: map[string]string{contract.ClustersAnnotation: text}})
	}
}

// tasks adds eviction tasks to the binding.
func tasks(list ...workv1alpha2.GracefulEvictionTask) func(*decide.Input) {
	return func(in *decide.Input) { in.Spec.GracefulEvictionTasks = list }
}

const onlyA = "namespace shop may use only those that its annotation fairlead.dev/clusters selects: name=a"

func TestDecideUsesOnlyAllowedClusters(t *testing.T) {
	t.Parallel()
	leaves := func(cluster string, replicas int32) decide.Departure {
		return decide.Departure{Cluster: cluster, Replicas: replicas, NotAllowed: true, Why: "Cluster " + cluster + " may not be used any more: " + onlyA + "."}
	}
	toNowhere := func(in *decide.Input) { in.Spec.Placement.ClusterAffinity = names("b") }
	contradicting := func(in *decide.Input) {
		in.Spec.Placement.SpreadConstraints = []policyv1alpha1.SpreadConstraint{{MinGroups: 3, MaxGroups: 1}}
	}
	const nowhere = "0/2 clusters are available: 1 cluster(s) did not match the placement cluster affinity constraint, 1 cluster(s) may not be used: " + onlyA + "."
	tests := map[string]struct {
		in          decide.Input
		wantOutcome decide.Outcome
		wantTargets targets
		wantLeave   []decide.Departure
		wantReturn  []string
		wantMessage string
	}{
		"an application for every cluster goes to the allowed ones": {
			in: input(allowed("name=a")), wantOutcome: decide.Scheduled, wantTargets: targets{target("a", 2)}, wantMessage: "Left out: b; " + onlyA + ".",
		},
		"a namespace without the annotation allows all clusters": {
			in: input(), wantOutcome: decide.Scheduled, wantTargets: targets{target("a", 2), target("b", 2)},
		},
		"the message leaves out clusters that the policy does not select": {
			in:          input(allowed("name=a"), func(in *decide.Input) { in.Spec.Placement.ClusterAffinity = names("a") }),
			wantOutcome: decide.Scheduled, wantTargets: targets{target("a", 2)},
		},
		"the message names only some of many clusters": {
			in:          input(allowed("name=a"), with(member("a"), member("b"), member("c"), member("d"), member("e"), member("f"), member("g"), member("h"))),
			wantOutcome: decide.Scheduled, wantTargets: targets{target("a", 2)}, wantMessage: "Left out: b, c, d, e, f, and others; " + onlyA + ".",
		},
		"a policy that selects only other clusters fits nowhere": {
			in: input(allowed("name=a"), toNowhere), wantOutcome: decide.NoClusterFit, wantMessage: nowhere + " Left out: b; " + onlyA + ".",
		},
		"a copy in another cluster leaves": {
			in:          input(allowed("name=a"), applied, has(target("a", 2), target("b", 2))),
			wantOutcome: decide.Scheduled, wantTargets: targets{target("a", 2)}, wantLeave: []decide.Departure{leaves("b", 2)}, wantMessage: "Left out: b; " + onlyA + ".",
		},
		"shares in other clusters leave and are replaced": {
			in:          input(divided, allowed("name=a"), applied, has(target("a", 1), target("b", 1))),
			wantOutcome: decide.Scheduled, wantTargets: targets{target("a", 2)}, wantLeave: []decide.Departure{leaves("b", 1)}, wantMessage: "Left out: b; " + onlyA + ".",
		},
		"a copy that fits nowhere else leaves all the same": {
			in:          input(allowed("name=a"), toNowhere, applied, has(target("b", 2))),
			wantOutcome: decide.NoClusterFit, wantLeave: []decide.Departure{leaves("b", 2)}, wantMessage: nowhere + " Left out: b; " + onlyA + ".",
		},
		"a copy for which other clusters lack capacity leaves all the same": {
			in: input(divided, allowed("name=a"), applied, has(target("b", 2)), func(in *decide.Input) {
				in.Spec.Placement.SpreadConstraints = []policyv1alpha1.SpreadConstraint{{SpreadByField: policyv1alpha1.SpreadByCluster, MinGroups: 2}}
			}),
			wantOutcome: decide.Unschedulable, wantTargets: targets{}, wantLeave: []decide.Departure{leaves("b", 2)},
		},
		"a contradictory placement keeps no copy in another cluster": {
			in:          input(contradicting, allowed("name=a"), has(target("a", 2), target("b", 2))),
			wantOutcome: decide.Refused, wantTargets: targets{target("a", 2)}, wantLeave: []decide.Departure{leaves("b", 2)},
		},
		"a copy whose eviction was to wait for ever leaves for this reason": {
			in: input(allowed("name=a"), applied, has(target("a", 2)), tasks(workv1alpha2.GracefulEvictionTask{
				FromCluster: "b", Replicas: new(int32(2)), PurgeMode: policyv1alpha1.PurgeNever, Producer: workv1alpha2.ProducerApplicationFailover,
			})),
			wantOutcome: decide.Scheduled, wantTargets: targets{target("a", 2)}, wantLeave: []decide.Departure{leaves("b", 2)}, wantMessage: "Left out: b; " + onlyA + ".",
		},
		"a copy that is leaving for this reason is not evicted twice": {
			in: input(allowed("name=a"), applied, has(target("a", 2)), tasks(workv1alpha2.GracefulEvictionTask{
				FromCluster: "b", Producer: workv1alpha2.ProducerNamespaceClusters,
			})),
			wantOutcome: decide.Scheduled, wantTargets: targets{target("a", 2)}, wantMessage: "Left out: b; " + onlyA + ".",
		},
		"a copy whose cluster is allowed again is taken back": {
			in: input(allowed("name"), applied, has(target("a", 2)), with(member("a"), member("b", ready)), tasks(workv1alpha2.GracefulEvictionTask{
				FromCluster: "b", Producer: workv1alpha2.ProducerNamespaceClusters,
			})),
			wantOutcome: decide.Scheduled, wantTargets: targets{target("a", 2), target("b", 2)}, wantReturn: []string{"b"},
		},
		"an invalid annotation removes and adds nothing": {
			in:          input(allowed("name in"), applied, has(target("b", 2))),
			wantOutcome: decide.Refused, wantTargets: targets{target("b", 2)},
			wantMessage: "The annotation fairlead.dev/clusters of Namespace shop, which says which clusters the namespace may use, is no label selector: " +
				"unable to parse requirement: found '' expected: '('. Nothing is placed anew and nothing is taken away until an administrator corrects it: " +
				"kubectl annotate namespace shop --overwrite fairlead.dev/clusters=KEY=VALUE.",
		},
		"labels that no cluster has remove and add nothing": {
			in:          input(allowed("name=c"), applied, has(target("b", 2))),
			wantOutcome: decide.Refused, wantTargets: targets{target("b", 2)},
			wantMessage: "Namespace shop may use the clusters with the labels name=c (annotation fairlead.dev/clusters), and no Cluster has them. " +
				"Nothing is placed anew and nothing is taken away until an administrator corrects the annotation or labels a Cluster.",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			d := decide.Decide(tt.in)
			g.Expect(d.Outcome).To(Equal(tt.wantOutcome), d.Message)
			g.Expect(d.Targets).To(BeComparableTo(tt.wantTargets))
			g.Expect(d.Leave).To(BeComparableTo(tt.wantLeave))
			g.Expect(d.Return).To(Equal(tt.wantReturn))
			if tt.wantMessage != "" {
				g.Expect(d.Message).To(Equal(tt.wantMessage))
			}
			g.Expect(decide.Decide(tt.in)).To(BeComparableTo(d), "Decide must not change its input")
		})
	}
}

// Failover, overflow and a preferred group must not place an application in a cluster that the namespace does not allow.
func TestFailoverAndOverflowUseOnlyAllowedClusters(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := input(divided, allowed("name=a"), applied, has(target("a", 2)))
	g.Expect(decide.CouldPlaceWithout(in, []string{"a"})).To(BeFalse())
	in.Allowance = nil
	g.Expect(decide.CouldPlaceWithout(in, []string{"a"})).To(BeTrue())

	over := input(overflowing, ofPods(9), with(member("a", pods(4)), member("b", pods(9))))
	over.Spec.Placement.ClusterAffinities[0].ClusterAffinity, over.Spec.Placement.ClusterAffinities[0].OverflowAffinities[0].ClusterAffinity = *names("a"), *names("b")
	g.Expect(decide.Decide(over).Outcome).To(Equal(decide.Scheduled))
	allowed("name=a")(&over)
	g.Expect(decide.Decide(over).Outcome).To(Equal(decide.Unschedulable), "a cluster that is not allowed takes no overflow")

	back := input(divided, applied, allowed("name=b"), has(target("b", 2)), func(in *decide.Input) {
		in.Spec.Placement.ClusterAffinities = terms([]string{"a"}, []string{"b"})
		in.ObservedAffinity, in.ReturnToPreferred, in.FailbackDue = "group-1", true, true
	})
	g.Expect(decide.Decide(back).Targets).To(Equal(targets{target("b", 2)}))
}

// The detail of a verdict names the labels that the cluster has.
func TestVerdictNamesLabelsOfForbiddenCluster(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	d := decide.Decide(input(allowed("name=a"), func(in *decide.Input) { in.Explain = true }))
	v := verdictOn(g, d, "b")
	g.Expect(v.Filter).To(Equal(fit.NamespaceClusters))
	g.Expect(v.Detail).To(Equal("the cluster has the labels name=b"))
}
