package admit

import (
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/common/revision"
	"fairlead.dev/hub/flow/rollout/judge"
)

// Whoever waits for the condition CaughtUp, as kubectl does, is not to go on before every target was given the revision.
func TestNobodyHasCaughtUpBeforeItWasGivenTheRevision(t *testing.T) {
	t.Parallel()
	healthy := judge.Report{Current: true, Applied: true, Health: judge.Healthy}
	has := func(number int64, hash string) judge.Work {
		return judge.Work{Exists: true, Revision: revision.ID{Number: number, Hash: hash}, Report: healthy}
	}
	type works = map[string]judge.Work
	for name, c := range map[string]struct {
		works       works
		immediately bool
		gone        string
		want        metav1.ConditionStatus
		why         string
	}{
		"all have it":                           {works: works{"c1": has(2, "b"), "c2": has(2, "b")}, want: metav1.ConditionTrue, why: fairleadv1alpha1.ReasonRolloutNobodyBehind},
		"nobody has anything yet":               {works: works{"c1": {}, "c2": {}}, want: metav1.ConditionFalse, why: fairleadv1alpha1.ReasonRolloutBeingSent},
		"one was chosen later":                  {works: works{"c1": has(2, "b"), "c2": {}}, want: metav1.ConditionFalse, why: fairleadv1alpha1.ReasonRolloutBeingSent},
		"one came back with what it had before": {works: works{"c1": has(2, "b"), "c2": has(1, "a")}, want: metav1.ConditionFalse, why: fairleadv1alpha1.ReasonRolloutBeingSent},
		"one is gone, and is given nothing":     {works: works{"c1": has(2, "b"), "c2": {}}, gone: "c2", want: metav1.ConditionTrue, why: fairleadv1alpha1.ReasonRolloutNobodyBehind},
		"all are given it at once":              {works: works{"c1": has(2, "b"), "c2": has(1, "a")}, immediately: true, want: metav1.ConditionFalse, why: fairleadv1alpha1.ReasonRolloutBeingSent},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			in := Input{Now: noon(), Frozen: &Frozen{Waves: []revision.Wave{{Name: "rest", Clusters: []string{"c1", "c2"}}}}}
			in.Status = fairleadv1alpha1.StagedRolloutStatus{
				Phase: fairleadv1alpha1.RolloutCompleted, Revision: 2, Stable: 2,
				Revisions: []fairleadv1alpha1.RevisionStatus{{Number: 1, Hash: "a"}, {Number: 2, Hash: "b"}},
			}
			if c.immediately {
				in.Status.Immediately, in.Status.Stable, in.Status.Phase = true, 1, fairleadv1alpha1.RolloutProgressing
			}
			for name, work := range c.works {
				in.Clusters = append(in.Clusters, Cluster{
					Cluster: &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}}, Gone: name == c.gone, Target: true, Work: work,
				})
			}
			out := Decide(in)
			g.Expect(out.Status.Stable).To(BeEquivalentTo(2))
			said := meta.FindStatusCondition(out.Status.Conditions, fairleadv1alpha1.RolloutConditionCaughtUp)
			g.Expect(said).NotTo(BeNil())
			g.Expect(said.Status).To(Equal(c.want), said.Message)
			g.Expect(said.Reason).To(Equal(c.why), said.Message)

			// Then they are given it, which is no news for people.
			in.Status = out.Status
			for i := range in.Clusters {
				in.Clusters[i].Work = has(2, "b")
			}
			out = Decide(in)
			g.Expect(meta.IsStatusConditionTrue(out.Status.Conditions, fairleadv1alpha1.RolloutConditionCaughtUp)).To(BeTrue())
			for _, e := range out.Events {
				g.Expect(e.Reason).NotTo(Equal(EventCaughtUp))
			}
		})
	}
}
