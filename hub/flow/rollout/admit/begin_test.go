package admit

import (
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/common/revision"
	"fairlead.dev/hub/flow/rollout/judge"
)

// Whoever may edit a template may go back to any edit, and may not approve: r1 is known to have passed every wave, r2 to be stable, r3
// and r4 are edits that wait for approval.
func TestARevisionThatNeverPassedReturnsToAllAtOnceOnlyWithoutApprovals(t *testing.T) {
	t.Parallel()
	canary := fairleadv1alpha1.Wave{Name: "canary", Size: new(intstr.FromInt32(1))}
	approved := func(w fairleadv1alpha1.Wave, at fairleadv1alpha1.ApprovalPoint) fairleadv1alpha1.Wave {
		w.Approval = at
		return w
	}
	rest := fairleadv1alpha1.Wave{Name: "rest"}
	for name, c := range map[string]struct {
		waves  []fairleadv1alpha1.Wave
		target int64
		// older says that a hub recorded the revisions that did not know which had passed.
		older bool
		want  bool
	}{
		"an edit that waits for approval":                      {waves: []fairleadv1alpha1.Wave{canary, approved(rest, fairleadv1alpha1.ApprovalBefore)}, target: 3},
		"an edit, with an approval after the canary":           {waves: []fairleadv1alpha1.Wave{approved(canary, fairleadv1alpha1.ApprovalAfter), rest}, target: 3},
		"an edit, and nobody is to approve":                    {waves: []fairleadv1alpha1.Wave{canary, approved(rest, fairleadv1alpha1.ApprovalNone)}, target: 3, want: true},
		"an edit, by the waves of a strategy that names none":  {target: 3, want: true},
		"what has passed":                                      {waves: []fairleadv1alpha1.Wave{canary, approved(rest, fairleadv1alpha1.ApprovalBefore)}, target: 1, want: true},
		"what is stable":                                       {waves: []fairleadv1alpha1.Wave{canary, approved(rest, fairleadv1alpha1.ApprovalBefore)}, target: 2, want: true},
		"what an older hub recorded, of which nobody knows":    {waves: []fairleadv1alpha1.Wave{canary, approved(rest, fairleadv1alpha1.ApprovalBefore)}, target: 1, older: true},
		"what an older hub recorded as stable":                 {waves: []fairleadv1alpha1.Wave{canary, approved(rest, fairleadv1alpha1.ApprovalBefore)}, target: 2, older: true, want: true},
		"what an older hub recorded, and nobody is to approve": {waves: []fairleadv1alpha1.Wave{canary, rest}, target: 1, older: true, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			in := Input{Now: noon()}
			in.Status = fairleadv1alpha1.StagedRolloutStatus{
				Phase: fairleadv1alpha1.RolloutWaiting, Revision: 4, Stable: 2,
				Revisions: []fairleadv1alpha1.RevisionStatus{
					{Number: 1, Hash: "a", Passed: !c.older}, {Number: 2, Hash: "b", Passed: !c.older}, {Number: 3, Hash: "c"}, {Number: 4, Hash: "d"},
				},
			}
			for _, name := range []string{"c1", "c2", "c3"} {
				in.Clusters = append(in.Clusters, Cluster{
					Cluster: &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}}, Target: true,
					Work: judge.Work{Exists: true, Revision: revision.ID{Number: 2, Hash: "b"}, Report: judge.Report{Current: true, Applied: true, Health: judge.Healthy}},
				})
			}
			in.Spec.Target = &fairleadv1alpha1.RolloutTarget{Revision: c.target, Over: 4, Immediately: true}
			in.Spec.Paused = true // That keeps nothing that goes to all at once.
			cut := Decide(in).Cut
			g.Expect(cut).NotTo(BeNil())

			in.Frozen = &Frozen{Waves: []revision.Wave{{Name: "canary", Clusters: []string{"c1"}}, {Name: "rest", Clusters: []string{"c2", "c3"}}}}
			in.Frozen.Strategy.Waves = c.waves
			in.Status = Begin(in.Status, Made{Cut: *cut, Hash: revision.Of(in.Status.Revisions, c.target).Hash, Strategy: "s", At: noon()}, in.Frozen.Strategy)
			in.Status = Decide(in).Status
			g.Expect(in.Status.Immediately).To(Equal(c.want))
			g.Expect(in.Status.Stable == 5).To(Equal(c.want))
			said := in.Status.Revisions[len(in.Status.Revisions)-1].Message
			if c.want {
				g.Expect(said).NotTo(ContainSubstring("in waves"))
				return
			}
			g.Expect(said).To(ContainSubstring("all clusters at once were requested: the strategy asks for approvals"))
			g.Expect(promised(&in.Status, 5)).To(BeEmpty(), "paused as anything else")

			in.Spec.Paused = false
			for range 5 { // The canary gets it, and then it waits.
				in.Status = Decide(in).Status
				for i := range in.Clusters {
					in.Clusters[i].Work.Revision = revision.NewPlan(&in.Status).Wanted(in.Clusters[i].Cluster.Name, in.Clusters[i].Work.Revision)
				}
			}
			g.Expect(in.Status.Stable).To(BeEquivalentTo(2))
			g.Expect(promised(&in.Status, 5).UnsortedList()).To(Equal([]string{"c1"}))
			waits := meta.FindStatusCondition(in.Status.Conditions, fairleadv1alpha1.RolloutConditionProgressing)
			g.Expect(waits.Reason).To(Equal(fairleadv1alpha1.ReasonRolloutNeedsApproval))
			g.Expect(waits.Message).To(And(ContainSubstring("hub rollout approve"), ContainSubstring("It goes out in waves")))
		})
	}
}

// What passes is remembered as long as it is kept, and so is what an older hub had found stable.
func TestARevisionThatPassesIsRememberedToHavePassed(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := fleet(3)
	passed := func() []int64 {
		var out []int64
		for _, one := range in.Status.Revisions {
			if one.Passed {
				out = append(out, one.Number)
			}
		}
		return out
	}
	in.Clusters[1].SilentSince = in.Clusters[0].SilentSince
	for range 10 {
		d := Decide(in)
		in.Status, in.Memory = d.Status, d.Memory
		if in.Status.Stable == 1 {
			g.Expect(passed()).To(BeEmpty(), "nothing is written for what is known already")
		}
		for i := range in.Clusters {
			work := &in.Clusters[i].Work
			work.Revision = revision.NewPlan(&in.Status).Wanted(in.Clusters[i].Cluster.Name, work.Revision)
			work.Report = judge.Report{Current: true, Applied: true, Health: judge.Healthy}
		}
	}
	g.Expect(in.Status.Phase).To(Equal(fairleadv1alpha1.RolloutCompleted))
	g.Expect(passed()).To(Equal([]int64{1, 2}))
}

// Whoever edits the placement may leave an application no cluster, edit the template, and grow it again.
func TestARevisionOfNoClusterHasPassedNothing(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := fleet(0)
	in.Status = Decide(in).Status
	g.Expect(in.Status.Stable).To(BeEquivalentTo(2))
	g.Expect(in.Status.Revisions).To(HaveLen(2))
	g.Expect(in.Status.Revisions[1].Passed).To(BeFalse())
}
