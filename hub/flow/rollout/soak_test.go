package rollout

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/test/stagetest"
)

// TestAStatusThatIsNotStoredHoldsUpNoOtherSoak has every write of one rollout's status rejected, as when it is too large for the database.
// That must not restart the soak of any other rollout.
func TestAStatusThatIsNotStoredHoldsUpNoOtherSoak(t *testing.T) {
	t.Parallel()
	strategy := canaryThenRest()
	strategy.Waves[0].Soak = &metav1.Duration{Duration: 5 * time.Second}
	w := running(t, 2, strategy)
	w.writes.refuse("other")
	other := w.bindOther("other", w.strategy)
	w.edit("nginx:2")
	w.awaitPhase(2, fairleadv1alpha1.RolloutSoaking)
	before := w.writes.refusals()
	eventually(t, func(g Gomega) {
		stagetest.Change(t, w.client, other, func() { other.Spec.Replicas++ }) // it is looked at once more
		g.Expect(w.writes.refusals()).To(BeNumerically(">", before+5))
		g.Expect(w.rollout(g).Status.Phase).To(Equal(fairleadv1alpha1.RolloutCompleted))
	})
}
