package failover

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
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
	// told are the versions of clusters of which it was said that they changed.
	told map[string]string
	// expiring are the keys of taints that are about to go, by cluster.
	expiring map[string]expiring
}

// expiring are keys that were found of a version of a cluster, by versions of policies.
type expiring struct {
	cluster, policies string
	keys              sets.Set[string]
}

// outdate says that something changed about a cluster. The controllers of both kinds of bindings tell it of each change, which
// is one change.
func (v *verdicts) outdate(c client.Object) {
	v.mu.Lock()
	defer v.mu.Unlock()
	version := string(c.GetUID()) + "/" + c.GetResourceVersion()
	if v.told[c.GetName()] == version {
		return
	}
	if v.told == nil {
		v.told = map[string]string{}
	}
	v.told[c.GetName()], v.fresh = version, false
}

// gone says that a cluster is no more.
func (v *verdicts) gone(c client.Object) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.fresh = false
	delete(v.told, c.GetName())
	delete(v.expiring, c.GetName())
}

// expiringOn returns the keys of the taints that are about to go from a cluster, by the policies that were compiled last. They
// are not to be changed.
func (v *verdicts) expiringOn(c *clusterv1alpha1.Cluster) sets.Set[string] {
	v.mu.Lock()
	defer v.mu.Unlock()
	version := string(c.UID) + "/" + c.ResourceVersion
	if known := v.expiring[c.Name]; known.keys != nil && known.cluster == version && known.policies == v.versions {
		return known.keys
	}
	if v.expiring == nil {
		v.expiring = map[string]expiring{}
	}
	keys := v.policies.Expiring(c)
	v.expiring[c.Name] = expiring{version, v.versions, keys}
	return keys
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
