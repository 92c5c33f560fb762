package disruption

import (
	"context"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

// verdictLasts is for how long a verdict holds if nothing changes: the respite of clusters ends at some time.
const verdictLasts = time.Second

// Verdicts is the verdict on all clusters, for all that ask for it: when a region is lost thousands of applications are looked at, and
// the answer is the same for each. A stage tells it of each change before it looks at what that change concerns. It is safe for use by
// many goroutines.
type Verdicts struct {
	list func(context.Context) ([]*clusterv1alpha1.Cluster, error)

	mu sync.Mutex
	// fresh says that nothing changed since the verdict was made, which was at the time at.
	fresh   bool
	at      time.Time
	verdict Verdict
	// told are the versions of clusters of which it was said that they changed.
	told map[string]string
}

// NewVerdicts returns the verdict on the clusters that a function lists, which are only read.
func NewVerdicts(list func(context.Context) ([]*clusterv1alpha1.Cluster, error)) *Verdicts {
	return &Verdicts{list: list, told: map[string]string{}}
}

// Outdate says that a cluster came, or changed in a way that AffectsVerdict. The controllers of both kinds of bindings tell of each change,
// which is one change.
func (v *Verdicts) Outdate(c metav1.Object) {
	v.mu.Lock()
	defer v.mu.Unlock()
	version := string(c.GetUID()) + "/" + c.GetResourceVersion()
	if v.told[c.GetName()] == version {
		return
	}
	v.told[c.GetName()], v.fresh = version, false
}

// Gone says that a cluster is no more.
func (v *Verdicts) Gone(c metav1.Object) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.fresh = false
	delete(v.told, c.GetName())
}

// Now returns the verdict on all clusters, which is not to be changed. Who asks may have looked at the clock some time ago, since when
// others asked that looked at it later: it holds for them as well.
func (v *Verdicts) Now(ctx context.Context, now time.Time) (Verdict, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.fresh && now.Sub(v.at).Abs() < verdictLasts {
		return v.verdict, nil
	}
	clusters, err := v.list(ctx)
	if err != nil {
		return Verdict{}, err
	}
	v.verdict, v.at, v.fresh = Decide(clusters, now), now, true
	return v.verdict, nil
}
