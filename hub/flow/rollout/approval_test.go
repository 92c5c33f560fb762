package rollout

import (
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/util/rand"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/revision"
	"fairlead.dev/test/builder"
)

// TestAnOverrideForAClusterThatComesLaterWaitsForItsApproval has a user who may not approve write an override for a cluster without the
// application, and then add that cluster: it must get the stable revision until the override is approved.
func TestAnOverrideForAClusterThatComesLaterWaitsForItsApproval(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := running(t, 1, fairleadv1alpha1.RolloutStrategySpec{
		FirstTime: fairleadv1alpha1.FirstTimeAllAtOnce, Waves: []fairleadv1alpha1.Wave{{Name: "all", Approval: fairleadv1alpha1.ApprovalAfter}},
	})
	eventually(t, func(g Gomega) { g.Expect(w.have(g)).To(Equal([]int64{1})) })
	later := builder.MakeCluster("later-" + rand.String(6)).Obj()
	g.Expect(w.client.Create(t.Context(), later)).To(Succeed())
	w.heard(later.Name, true)

	w.mu.Lock()
	w.unconcerned = true
	w.mu.Unlock()
	policy := builder.MakeOverride(w.namespace, "later").Select("apps/v1", "Deployment", "web").Replace(later.Name, "/spec/paused", true).Obj()
	g.Expect(w.client.Create(t.Context(), policy)).To(Succeed())
	r := w.awaitPhase(2, fairleadv1alpha1.RolloutWaiting)
	g.Expect(r.Status.Stable).To(BeEquivalentTo(1))
	g.Expect(w.awaitReason(fairleadv1alpha1.ReasonRolloutNeedsApproval)).To(ContainSubstring("changes nothing in the clusters that are in this wave now, but may in clusters that join it"))

	w.change(func(b *workv1alpha2.ResourceBinding) {
		b.Spec.Clusters = append(b.Spec.Clusters, workv1alpha2.TargetCluster{Name: later.Name, Replicas: 1})
	})
	eventually(t, func(g Gomega) {
		status := w.rollout(g).Status
		g.Expect(status.Waves[0].Size).To(BeEquivalentTo(2))
		g.Expect(revision.NewPlan(&status).Wanted(later.Name, revision.ID{}).Number).To(BeEquivalentTo(1), "%+v", status.Clusters)
	})
	w.tell(func(s *fairleadv1alpha1.StagedRolloutSpec) {
		s.Approvals = append(s.Approvals, fairleadv1alpha1.WaveApproval{Revision: 2, Wave: "all"})
	})
	eventually(t, func(g Gomega) { g.Expect(w.rollout(g).Status.Stable).To(BeEquivalentTo(2)) })
}
