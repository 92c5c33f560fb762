package failover

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/hub/adjust/failover/evict"
)

// taints are what ClusterTaintPolicies make of taints, for all bindings: when a region is lost thousands of bindings are looked at, and
// the answer is the same for each. It is safe for use by many goroutines.
type taints struct {
	hubClient client.Reader

	mu       sync.Mutex
	policies evict.TaintPolicies
	// versions are those of the ClusterTaintPolicies that were compiled.
	versions string
	// expiring are the keys of taints that are about to go, by cluster.
	expiring map[string]expiring
}

// expiring are keys that were found of a version of a cluster, by versions of policies.
type expiring struct {
	cluster, policies string
	keys              sets.Set[string]
}

// gone says that a cluster is no more.
func (t *taints) gone(c client.Object) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.expiring, c.GetName())
}

// expiringOn returns the keys of the taints that are about to go from a cluster, by the policies that were compiled last. They
// are not to be changed.
func (t *taints) expiringOn(c *clusterv1alpha1.Cluster) sets.Set[string] {
	t.mu.Lock()
	defer t.mu.Unlock()
	version := string(c.UID) + "/" + c.ResourceVersion
	if known := t.expiring[c.Name]; known.keys != nil && known.cluster == version && known.policies == t.versions {
		return known.keys
	}
	if t.expiring == nil {
		t.expiring = map[string]expiring{}
	}
	keys := t.policies.Expiring(c)
	t.expiring[c.Name] = expiring{version, t.versions, keys}
	return keys
}

// compiled returns the ClusterTaintPolicies as they are now, compiled once for each change of one.
func (t *taints) compiled(ctx context.Context) (evict.TaintPolicies, error) {
	var list policyv1alpha1.ClusterTaintPolicyList
	if err := t.hubClient.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return evict.TaintPolicies{}, fmt.Errorf("listing ClusterTaintPolicies: %w", err)
	}
	var versions strings.Builder
	for i := range list.Items {
		fmt.Fprint(&versions, list.Items[i].UID, "/", list.Items[i].ResourceVersion, " ")
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if versions.String() != t.versions {
		t.policies, t.versions = evict.CompileTaintPolicies(list.Items), versions.String()
	}
	return t.policies, nil
}
