package integration

import (
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/test/builder"
)

// TestAnEditThatNobodyApprovedGoesBackInWavesOnly has an author without the right to approve: of two edits waiting for
// approval the first is kept, and undoing to it in all clusters at once must not amount to an approval.
func TestAnEditThatNobodyApprovedGoesBackInWavesOnly(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := shared(t)
	ns := s.namespace(t)
	strategy := s.staged(t, "edge-1", func(spec *fairleadv1alpha1.RolloutStrategySpec) {
		spec.Waves[1].Approval = fairleadv1alpha1.ApprovalBefore
		spec.FirstTime = fairleadv1alpha1.FirstTimeAllAtOnce // later revisions need approval
	})
	template := builder.MakeConfigMap(ns, "signs", "colour", "blue").Obj()
	s.create(t, by(strategy, builder.MakePolicy(ns, "signs").Select("v1", "ConfigMap", "signs").Clusters("edge-1", "edge-2").Obj()), template)
	colours := func(first, second string) {
		t.Helper()
		eventually(t, func(g Gomega) {
			for member, want := range map[string]string{"edge-1": first, "edge-2": second} {
				data, _, _ := unstructured.NestedStringMap(s.inMember(t, g, member, template).Object, "data")
				g.Expect(data).To(HaveKeyWithValue("colour", want), member)
			}
		})
	}
	paint := func(colour string) {
		t.Helper()
		s.update(t, template, func(obj *unstructured.Unstructured) {
			g.Expect(unstructured.SetNestedField(obj.Object, colour, "data", "colour")).To(Succeed())
		})
	}
	s.awaitRollout(t, template, 1, fairleadv1alpha1.RolloutCompleted)
	colours("blue", "blue")
	paint("green")
	s.awaitRollout(t, template, 2, fairleadv1alpha1.RolloutWaiting)
	paint("red")
	s.awaitRollout(t, template, 3, fairleadv1alpha1.RolloutWaiting)
	colours("red", "blue")

	author := s.author(t, ns)
	back := func(to, over int64) {
		t.Helper()
		g.Eventually(func() error {
			return s.tell(t, author, template, func(spec *fairleadv1alpha1.StagedRolloutSpec) {
				spec.Target = &fairleadv1alpha1.RolloutTarget{Revision: to, Over: over, Immediately: true}
			})
		}).WithTimeout(waitTimeout).Should(Succeed(), "the authorizer reads roles a moment later")
	}
	back(2, 3)
	status := s.awaitRollout(t, template, 4, fairleadv1alpha1.RolloutWaiting)
	g.Expect(status.Immediately).To(BeFalse())
	g.Expect(status.Stable).To(BeEquivalentTo(1))
	g.Expect(status.Revisions[3].Message).To(ContainSubstring("all clusters at once were requested: the strategy asks for approvals"))
	colours("green", "blue")
	g.Expect(s.tell(t, s.hub.Client(t), template, func(spec *fairleadv1alpha1.StagedRolloutSpec) {
		spec.Approvals = []fairleadv1alpha1.WaveApproval{{Revision: 4, Wave: fairleadv1alpha1.WaveRest}}
	})).To(Succeed())
	s.awaitRollout(t, template, 4, fairleadv1alpha1.RolloutCompleted)
	colours("green", "green")

	// The first revision has passed every wave, even if it is not stable any more; the API keeps that.
	back(1, 4)
	status = s.awaitRollout(t, template, 5, fairleadv1alpha1.RolloutCompleted)
	g.Expect(status.Immediately).To(BeTrue())
	colours("blue", "blue")
	var passed []int64
	for _, one := range status.Revisions {
		if one.Passed {
			passed = append(passed, one.Number)
		}
	}
	g.Expect(passed).To(Equal([]int64{1, 4, 5}))
}
