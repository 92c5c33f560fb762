package rollout

import (
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/test/builder"
)

func TestAWaveThatCannotBeOrderedSaysSo(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	strategy := &fairleadv1alpha1.RolloutStrategySpec{Waves: []fairleadv1alpha1.Wave{{Name: "canary", OrderByLabel: "ring"}, {Name: "rest"}}}
	plain, labelled := builder.MakeCluster("a").Obj(), builder.MakeCluster("b").Label("ring", "0").Obj()
	g.Expect(unordered(strategy, []*clusterv1alpha1.Cluster{plain})).To(ContainSubstring("None of the clusters has the label ring, which orders wave canary"))
	g.Expect(unordered(strategy, []*clusterv1alpha1.Cluster{plain, labelled})).To(BeEmpty())
	g.Expect(unordered(strategy, nil)).To(BeEmpty(), "before it is placed")
}

func TestConditionRollingOut(t *testing.T) {
	t.Parallel()
	rollout := &fairleadv1alpha1.StagedRollout{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-deployment"}}
	waves := []fairleadv1alpha1.WaveStatus{{Name: "canary"}, {Name: "rest"}}
	for name, c := range map[string]struct {
		status fairleadv1alpha1.StagedRolloutStatus
		want   string // part of the message; none if there is no condition
	}{
		"nothing is known yet": {},
		"it is completed":      {status: fairleadv1alpha1.StagedRolloutStatus{Phase: fairleadv1alpha1.RolloutCompleted, Revision: 2, Stable: 2}},
		"a wave is going on":   {fairleadv1alpha1.StagedRolloutStatus{Phase: fairleadv1alpha1.RolloutProgressing, Revision: 2, Wave: "canary", Waves: waves}, "Revision 2 is on its way: wave canary (1 of 2)."},
		"it is halted":         {fairleadv1alpha1.StagedRolloutStatus{Phase: fairleadv1alpha1.RolloutHalted, Revision: 2, Wave: "rest", Waves: waves}, "was halted, because too many clusters failed: wave rest (2 of 2)"},
		"what is edited goes nowhere": {fairleadv1alpha1.StagedRolloutStatus{
			Phase: fairleadv1alpha1.RolloutCompleted, Revision: 2, Stable: 2,
			Conditions: []metav1.Condition{{Type: fairleadv1alpha1.RolloutConditionProgressing, Reason: fairleadv1alpha1.ReasonRolloutStrategyAbsent, Message: "There is none."}},
		}, "There is none."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			got := rollingOut(rollout, &c.status)
			if c.want == "" {
				g.Expect(got).To(BeNil())
				return
			}
			g.Expect(got.Message).To(ContainSubstring(c.want))
			g.Expect(got.Status).To(Equal(metav1.ConditionTrue))
		})
	}
}
