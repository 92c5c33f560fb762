package disruption

import (
	"context"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

// verdictLasts is how long a verdict is cached if nothing changes: a cluster's respite may end meanwhile.
const verdictLasts = time.Second

// Verdicts caches the verdict on all clusters: when a region is lost, thousands of applications are reconciled, and
// the answer is the same for each. A stage reports each change before it reconciles what the change concerns. It is
// safe for concurrent use.
type Verdicts struct {
	list func(context.Context) ([]*clusterv1alpha1.Cluster, error)

	mu sync.Mutex
	// fresh says that nothing changed since the verdict was made, at the time at.
	fresh   bool
	at      time.Time
	verdict Verdict
	// told are the reported versions of clusters.
	told map[string]string
}

// NewVerdicts returns the Verdicts on the clusters that list returns, which are not modified.
func NewVerdicts(list func(context.Context) ([]*clusterv1alpha1.Cluster, error)) *Verdicts {
	return &Verdicts{list: list, told: map[string]string{}}
}

// Outdate reports that a cluster is new, or changed in a way that AffectsVerdict. The controllers of both kinds of
// bindings report each change, which counts once.
func (v *Verdicts) Outdate(c metav1.Object) {
	v.mu.Lock()
	defer v.mu.Unlock()
	version := string(c.GetUID()) + "/" + c.GetResourceVersion()
	if v.told[c.GetName()] == version {
		return
	}
	v.told[c.GetName()], v.fresh = version, false
}

// Gone reports that a cluster was deleted.
func (v *Verdicts) Gone(c metav1.Object) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.fresh = false
	delete(v.told, c.GetName())
}

// Now returns the verdict on all clusters, which must not be changed. now may be older than that of a concurrent
// caller; the cached verdict is valid for both.
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
