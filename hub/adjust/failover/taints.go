package failover

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/sets"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/adjust/failover/evict"
)

// taints evaluates ClusterTaintPolicies for all bindings: when a region is lost, thousands of bindings are reconciled,
// and the answer is the same for each. It is safe for concurrent use.
type taints struct {
	hubClient client.Reader

	mu       sync.Mutex
	policies evict.TaintPolicies
	// versions identifies the ClusterTaintPolicies that were compiled.
	versions string
	// expiring has the keys of taints that are about to be removed, by cluster.
	expiring map[string]expiring
	// seen are the taints that were added to clusters since this process started, by cluster and key.
	seen map[string]map[string]seenTaint
}

// seenTaint is the timeAdded of a taint, and when this process first saw it by its own clock.
type seenTaint struct{ added, at time.Time }

// expiring are the keys computed for one version of a cluster and of the policies.
type expiring struct {
	cluster, policies string
	keys              sets.Set[string]
}

// gone drops a cluster that no longer exists.
func (t *taints) gone(c client.Object) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.expiring, c.GetName())
	delete(t.seen, c.GetName())
}

// see records NoExecute taints that were added to a cluster. It may be called twice for a change, by the controllers of
// both kinds of bindings.
func (t *taints) see(before, after *clusterv1alpha1.Cluster, now time.Time) {
	if equality.Semantic.DeepEqual(before.Spec.Taints, after.Spec.Taints) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	next, had := map[string]seenTaint{}, noExecute(before)
	for key, added := range noExecute(after) {
		known, ok := t.seen[after.Name][key]
		was, old := had[key]
		switch {
		case ok && known.added.Equal(added):
			next[key] = known
		case !old || !was.Equal(added):
			next[key] = seenTaint{added: added, at: now}
		}
	}
	if t.seen == nil {
		t.seen = map[string]map[string]seenTaint{}
	}
	t.seen[after.Name] = next
}

// seenFor returns, by key, for how long the taints of a cluster that were added since the start of this process have
// been seen.
func (t *taints) seenFor(c *clusterv1alpha1.Cluster, now time.Time) map[string]time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.seen[c.Name]) == 0 {
		return nil
	}
	out := map[string]time.Duration{}
	for key, added := range noExecute(c) {
		if known, ok := t.seen[c.Name][key]; ok && known.added.Equal(added) {
			out[key] = max(now.Sub(known.at), 0)
		}
	}
	return out
}

// noExecute returns the timeAdded of a cluster's NoExecute taints that have one, by key.
func noExecute(c *clusterv1alpha1.Cluster) map[string]time.Time {
	out := map[string]time.Time{}
	for _, taint := range c.Spec.Taints {
		if taint.Effect == corev1.TaintEffectNoExecute && taint.TimeAdded != nil {
			out[taint.Key] = taint.TimeAdded.Time
		}
	}
	return out
}

// expiringOn returns the keys of the taints that are about to be removed from a cluster, by the policies that were
// compiled last. Callers must not change the set.
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

// compiled returns the present ClusterTaintPolicies, compiled once for each change.
func (t *taints) compiled(ctx context.Context) (evict.TaintPolicies, error) {
	var list policyv1alpha1.ClusterTaintPolicyList
	if err := t.hubClient.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return evict.TaintPolicies{}, fmt.Errorf("listing ClusterTaintPolicies: %w", err)
	}
	versions := selector.TaintPolicyVersions(list.Items)
	t.mu.Lock()
	defer t.mu.Unlock()
	if versions != t.versions {
		t.policies, t.versions = evict.CompileTaintPolicies(list.Items), versions
	}
	return t.policies, nil
}
