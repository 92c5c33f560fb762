package failover

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/disruption"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/adjust/failover/evict"
)

// verdictLasts is for how long a verdict holds if nothing changes: the respite of clusters ends at some time.
const verdictLasts = time.Second

// verdicts are what the hub thinks of itself, and of taints, for all bindings: when a region is lost thousands of
// bindings are looked at, and the answer is the same for each. It is safe for use by many goroutines.
type verdicts struct {
	hubClient client.Reader

	mu sync.Mutex
	// fresh says that nothing changed since the verdict was made, which was at the time at.
	fresh    bool
	at       time.Time
	verdict  disruption.Verdict
	policies evict.TaintPolicies
	// versions are those of the ClusterTaintPolicies that were compiled.
	versions string
}

// outdate says that something changed about a cluster.
func (v *verdicts) outdate() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.fresh = false
}

// now returns the verdict on all clusters.
func (v *verdicts) now(ctx context.Context, now time.Time) (disruption.Verdict, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if age := now.Sub(v.at); v.fresh && age >= 0 && age < verdictLasts {
		return v.verdict, nil
	}
	clusters, err := kube.Clusters(ctx, v.hubClient)
	if err != nil {
		return disruption.Verdict{}, err
	}
	v.verdict, v.at, v.fresh = disruption.Decide(clusters, now), now, true
	return v.verdict, nil
}

// taintPolicies returns the ClusterTaintPolicies as they are now, compiled once for each change of one.
func (v *verdicts) taintPolicies(ctx context.Context) (evict.TaintPolicies, error) {
	var list policyv1alpha1.ClusterTaintPolicyList
	if err := v.hubClient.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return evict.TaintPolicies{}, fmt.Errorf("listing ClusterTaintPolicies: %w", err)
	}
	var versions strings.Builder
	for i := range list.Items {
		fmt.Fprint(&versions, list.Items[i].UID, "/", list.Items[i].ResourceVersion, " ")
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if versions.String() != v.versions {
		v.policies, v.versions = evict.CompileTaintPolicies(list.Items), versions.String()
	}
	return v.policies, nil
}
