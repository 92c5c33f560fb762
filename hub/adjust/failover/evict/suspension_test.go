package evict

import (
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

// dispatchingTo suspends dispatching to some clusters, or to all if none is named.
func dispatchingTo(clusters ...string) func(*Input) {
	return func(in *Input) {
		in.Spec.Suspension = &workv1alpha2.Suspension{}
		if len(clusters) == 0 {
			in.Spec.Suspension.Dispatching = new(true)
			return
		}
		in.Spec.Suspension.DispatchingOnClusters = &policyv1alpha1.SuspendClusters{ClusterNames: clusters}
	}
}

// onlyIn makes the scheduler find other places in the named clusters only.
func onlyIn(clusters ...string) func(*Input) {
	return func(in *Input) {
		in.CouldPlaceWithout = func(without []string) bool {
			return slices.ContainsFunc(clusters, func(name string) bool { return !slices.Contains(without, name) })
		}
	}
}

func TestACopyStaysWhileItsReplacementIsNotSent(t *testing.T) {
	t.Parallel()
	moved := targets(target("edge-2", 2), target("edge-3", 2))
	lost := taint("edge-1")
	remembered := func(in *Input) {
		in.Past = []workv1alpha2.Eviction{{From: "edge-1", Before: []workv1alpha2.TargetCluster{target("edge-1", 2), target("edge-2", 2)}}}
	}
	ofFailure := func(task *workv1alpha2.GracefulEvictionTask) {
		task.Producer = workv1alpha2.ProducerApplicationFailover
	}
	leftByNamespace := func(task *workv1alpha2.GracefulEvictionTask) {
		task.Producer = workv1alpha2.ProducerNamespaceClusters
	}
	ill := report("edge-3", workv1alpha1.Unhealthy, 0)
	unreported := func(in *Input) { in.Works["edge-2"] = Work{} }
	silentFirst := func(in *Input) { in.Status.AggregatedStatus = nil }
	resumedAt := func(at time.Time) func(*Input) {
		return func(in *Input) { in.Memory.Resumed = map[string]time.Time{"edge-1": at} }
	}
	tests := map[string]struct {
		in         Input
		want       string
		wantReason string
	}{
		"that has its cluster for itself":                      {in: given(lost, task(), remembered, moved, dispatchingTo("edge-3"), now(6000)), wantReason: "DispatchingSuspended"},
		"also before its time":                                 {in: given(lost, task(), remembered, moved, dispatchingTo("edge-3"), now(5)), wantReason: "DispatchingSuspended"},
		"of all the application":                               {in: given(lost, task(), remembered, moved, dispatchingTo(), now(6000)), wantReason: "DispatchingSuspended"},
		"of what has left because it was unhealthy":            {in: given(task(ofFailure), report("edge-1", workv1alpha1.Unhealthy, 0), remembered, moved, dispatchingTo("edge-3"), now(6000)), wantReason: "DispatchingSuspended"},
		"of a larger share":                                    {in: given(lost, task(), remembered, targets(target("edge-2", 4)), unreported, dispatchingTo("edge-2"), now(6000)), wantReason: "DispatchingSuspended"},
		"also if the cluster is being removed":                 {in: given(removed, task(), remembered, moved, dispatchingTo("edge-3"), now(6000)), wantReason: "DispatchingSuspended"},
		"of nobody knows which, if none is sent":               {in: given(lost, task(), moved, silentFirst, dispatchingTo(), now(6000)), wantReason: "DispatchingSuspended"},
		"but not of nobody knows which, if one is there":       {in: given(lost, task(), moved, dispatchingTo(), now(6000)), want: workv1alpha2.EvictionTimedOut},
		"but not if that was sent and is unhealthy":            {in: given(lost, task(), remembered, moved, ill, dispatchingTo("edge-3"), now(600)), want: workv1alpha2.EvictionTimedOut},
		"but not for another cluster":                          {in: given(lost, task(), remembered, moved, dispatchingTo("edge-2"), now(600)), want: workv1alpha2.EvictionTimedOut},
		"but not of what goes everywhere, if another is there": {in: given(duplicated, lost, task(), remembered, targets(target("edge-2", 4), target("edge-3", 4)), dispatchingTo("edge-3"), now(600)), want: workv1alpha2.EvictionTimedOut},
		"but not where the namespace is not to be any more":    {in: given(task(leftByNamespace), remembered, moved, dispatchingTo("edge-3"), now(600)), want: workv1alpha2.EvictionTimedOut},
		"and has all of the grace period when that is over":    {in: given(lost, task(), remembered, moved, now(6000), resumedAt(time.Time{})), wantReason: "WaitingForReplacement"},
		"and has it but once":                                  {in: given(lost, task(), remembered, moved, now(6600), resumedAt(second(6000))), want: workv1alpha2.EvictionTimedOut},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			d := Decide(tc.in)
			if tc.want != "" {
				g.Expect(d.Ended).To(HaveLen(1))
				g.Expect(d.Ended[0].How).To(Equal(tc.want))
				return
			}
			g.Expect(d.Ended).To(BeEmpty())
			g.Expect(d.Condition.Reason).To(Equal(tc.wantReason))
			g.Expect(d.Memory.Empty()).To(BeFalse())
		})
	}
}

func TestMessagesNameTheSuspension(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := given(taint("edge-1"), task(), targets(target("edge-3", 4)), dispatchingTo("edge-3"))
	d := Decide(in)
	g.Expect(d.Condition.Message).To(Equal("Leaving edge-1. The copy there stays, because dispatching to the clusters that are to take its place is suspended: edge-3. " +
		"Resume it in spec.suspension of the policy."))

	in.Memory, in.Now, in.Spec.Suspension = d.Memory, second(6000), nil
	d = Decide(in)
	g.Expect(d.Ended).To(BeEmpty())
	g.Expect(d.RecheckAfter).To(Equal(DefaultGrace))
}

func TestALineThatIsLostForAMomentForgetsNoResumption(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := given(taint("edge-1"), task(), targets(target("edge-3", 4)), dispatchingTo("edge-3"), now(6000))
	in.Memory = Decide(in).Memory
	for _, then := range []struct {
		at     int
		change func(*Input)
	}{{6001, func(in *Input) { in.Spec.Suspension = nil }}, {6005, ready("edge-1", "Unknown")}, {6008, ready("edge-1", "True")}} {
		now(then.at)(&in)
		then.change(&in)
		d := Decide(in)
		g.Expect(d.Ended).To(BeEmpty(), "after %d s", then.at)
		in.Memory = d.Memory
	}
}

func TestACopyToBePurgedStaysWhileDispatchingIsSuspended(t *testing.T) {
	t.Parallel()
	directly := func(in *Input) { in.Options.PurgeMode = policyv1alpha1.PurgeDirectly }
	failed := func(mode policyv1alpha1.PurgeMode) func(*Input) {
		return func(in *Input) {
			failover(func(f *policyv1alpha1.ApplicationFailoverBehavior) { f.PurgeMode = mode })(in)
			unhealthySince("edge-1", 0)(in)
			now(60)(in)
		}
	}
	spread := func(in *Input) { in.Spec.Placement.SpreadConstraints = make([]policyv1alpha1.SpreadConstraint, 1) }
	one := func(in *Input) {
		spread(in)
		targets(target("edge-1", 4))(in)
		duplicated(in)
	}
	everywhere := func(in *Input) { duplicated(in); onlyIn()(in) }
	unsentTo := func(cluster string) func(*Input) {
		return func(in *Input) { in.item(cluster).Applied = false }
	}
	tests := map[string]struct {
		in   Input
		held bool
	}{
		"to any cluster":                                  {in: given(taint("edge-1"), directly, dispatchingTo()), held: true},
		"to the only other place":                         {in: given(one, taint("edge-1"), directly, onlyIn("edge-3"), dispatchingTo("edge-3")), held: true},
		"to any cluster, and the application is ill":      {in: given(failed(policyv1alpha1.PurgeDirectly), dispatchingTo()), held: true},
		"to the only place in which it is not ill":        {in: given(one, failed(policyv1alpha1.PurgeDirectly), onlyIn("edge-3"), dispatchingTo("edge-3")), held: true},
		"to the one that would get more":                  {in: given(taint("edge-1"), unsentTo("edge-2"), directly, onlyIn("edge-2"), dispatchingTo("edge-2")), held: true},
		"to the one that would get more, and has its own": {in: given(taint("edge-1"), directly, onlyIn("edge-2"), dispatchingTo("edge-2")), held: true},
		"to the other one of two that were chosen":        {in: given(duplicated, spread, unsentTo("edge-2"), taint("edge-1"), directly, onlyIn(), dispatchingTo("edge-2")), held: true},
		"to both that were chosen":                        {in: given(duplicated, spread, unsentTo("edge-2"), taint("edge-1"), directly, onlyIn(), dispatchingTo()), held: true},
		"to the other one of what goes everywhere":        {in: given(everywhere, unsentTo("edge-2"), taint("edge-1"), directly, dispatchingTo("edge-2")), held: true},
		"but not if the other one has it":                 {in: given(everywhere, taint("edge-1"), directly, dispatchingTo("edge-2"))},
		"but not if there is another place":               {in: given(one, taint("edge-1"), directly, onlyIn("edge-2", "edge-3"), dispatchingTo("edge-3"))},
		"but not if there is no other place at all":       {in: given(one, taint("edge-1"), directly, onlyIn(), dispatchingTo("edge-3"))},
		"but not if it is left gracefully":                {in: given(taint("edge-1"), dispatchingTo())},
		"but not if it is ill and left gracefully":        {in: given(failed(policyv1alpha1.PurgeGracefully), dispatchingTo())},
		"but not if it is the cluster that is being left": {in: given(one, taint("edge-1"), directly, onlyIn("edge-3"), dispatchingTo("edge-1"))},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			d := Decide(tc.in)
			if !tc.held {
				g.Expect(d.Evictions).To(HaveLen(1))
				return
			}
			g.Expect(d.Evictions).To(BeEmpty())
			g.Expect(d.Condition.Reason).To(Equal(workv1alpha2.ReasonDispatchingSuspended))
			g.Expect(string(d.Condition.Status)).To(Equal("False"))
			g.Expect(d.RecheckAfter).To(Equal(time.Minute))
		})
	}
}
