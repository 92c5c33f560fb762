package admit

import (
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

// TestAnEditThatWaitsForLongIsTold has no revision made of an edit, whatever the one before it does meanwhile.
func TestAnEditThatWaitsForLongIsTold(t *testing.T) {
	t.Parallel()
	const sentence = "The latest edit of the template is in no revision yet."
	g := NewWithT(t)
	said := func(in Input) *metav1.Condition {
		out := Decide(in)
		g.Expect(out.Cut).To(BeNil())
		return meta.FindStatusCondition(out.Status.Conditions, fairleadv1alpha1.RolloutConditionProgressing)
	}

	in := Input{Now: noon()}
	g.Expect(said(in)).To(BeNil(), "the first edit waits, and not for long")
	in.Unseen = sentence
	first := said(in)
	g.Expect(first.Reason).To(Equal(workv1alpha2.ReasonEditNotSeen))
	g.Expect(first.Message).To(Equal(sentence))

	in.Status = fairleadv1alpha1.StagedRolloutStatus{
		Phase: fairleadv1alpha1.RolloutCompleted, Revision: 1, Stable: 1, Revisions: []fairleadv1alpha1.RevisionStatus{{Number: 1, Hash: "a", Passed: true}},
	}
	in.Frozen = &Frozen{}
	in.Clusters = []Cluster{{Cluster: &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "c1"}}, Target: true}}
	next := said(in)
	g.Expect(next.Reason).To(Equal(fairleadv1alpha1.ReasonRolloutCompleted))
	g.Expect(next.Message).To(Equal("Revision 1 has passed every wave. " + sentence))
	in.Unseen = ""
	g.Expect(said(in).Message).To(Equal("Revision 1 has passed every wave."))
}
