package agents

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/hub/flow/rollout/plan"
)

// soak is the soak time of a wave if the strategy has none, and the longest soak time of a cluster that was lost and is
// heard again: longer than the hub takes to notice that a cluster is silent.
const soak = time.Minute

// DefaultStrategy has the default waves.
func DefaultStrategy() fairleadv1alpha1.RolloutStrategySpec {
	out := plan.Defaulted(fairleadv1alpha1.RolloutStrategySpec{})
	for i := range out.Waves {
		out.Waves[i].Soak = &metav1.Duration{Duration: soak}
	}
	return out
}

// Unsuccessful returns the clusters that may be tried again: their agent rolled back, refused, or was lost.
func (d *Decision) Unsuccessful() sets.Set[string] {
	out := sets.New[string]()
	for _, w := range d.Waves {
		for _, m := range w.Members {
			switch m.State {
			case Failed, Lost, ByHand:
				out.Insert(m.Name)
			case Held, InFlight, Upgraded, Silent:
			}
		}
	}
	return out
}
