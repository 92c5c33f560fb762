package agents

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/hub/flow/rollout/plan"
)

// soak is how long a wave is looked at where no strategy says so, and at most one of it that was lost and is heard again: longer than it takes
// until the hub calls a cluster silent.
const soak = time.Minute

// DefaultStrategy has the waves of whoever names none.
func DefaultStrategy() fairleadv1alpha1.RolloutStrategySpec {
	out := plan.Defaulted(fairleadv1alpha1.RolloutStrategySpec{})
	for i := range out.Waves {
		out.Waves[i].Soak = &metav1.Duration{Duration: soak}
	}
	return out
}

// Unsuccessful are the clusters that may be tried again: whose agent went back, refused, or is not heard since.
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
