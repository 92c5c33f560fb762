package fit

import (
	"cmp"
	"math"

	corev1 "k8s.io/api/core/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/quantity"
)

// Limits other than the names of resources.
const (
	// LimitPods : the nodes accept no more pods.
	LimitPods = "pods"
	// LimitModels : there is enough in total, but spread over nodes that are too small.
	LimitModels = "models"
	// LimitNoSummary : the agent has not reported resources yet, or removed them because it cannot read them in the member any more; the
	// condition CapacityUnknown says so.
	LimitNoSummary = "no summary"
)

// Capacity is how many more replicas, or sets of components, fit.
type Capacity struct {
	Replicas int32
	// Limit is why it is not more: the name of a resource, one of the constants above, or a ResourceQuota (see ByQuota).
	Limit string
}

// Amount is a number of pods and what they request in total.
type Amount struct {
	Resources corev1.ResourceList
	Pods      int64
}

// Assumed is what was assigned to a cluster and is not in its report yet: in total, and by namespace.
type Assumed struct {
	Amount
	Namespaces map[string]Amount
}

// Replicas returns how many more replicas of an application fit into a cluster. Namespace is the application's; empty if it has none. An
// application that requests nothing is bounded only by the number of pods, and by ResourceQuotas for pods.
func Replicas(c *clusterv1alpha1.Cluster, assumed Assumed, namespace string, req *workv1alpha2.ReplicaRequirements) Capacity {
	s := c.Capacity()
	if s == nil {
		return Capacity{Limit: LimitNoSummary}
	}
	b := bound{n: max(0, free(s, assumed, corev1.ResourcePods)), limit: LimitPods}
	req = cmp.Or(req, &workv1alpha2.ReplicaRequirements{})
	b.resources(s, assumed, req.ResourceRequest)
	if b.n > 0 {
		b.models(c, assumed, req.ResourceRequest)
	}
	b.quotas(c, namespace, assumed, []party{{class: req.PriorityClassName, request: req.ResourceRequest, replicas: 1}})
	return b.capacity()
}

// bound is the least bound so far.
type bound struct {
	n     int64
	limit string
}

// lower lowers the bound to n. Of equal bounds, the first determines the limit.
func (b *bound) lower(n int64, limit string) {
	if n < b.n {
		b.n, b.limit = n, limit
	}
}

// resources lowers the bound to the number of replicas with this request that fit into the total free resources.
func (b *bound) resources(s *clusterv1alpha1.ResourceSummary, assumed Assumed, request corev1.ResourceList) {
	least := bound{n: math.MaxInt64}
	for name := range request {
		if name == corev1.ResourcePods {
			continue
		}
		wanted := amount(request, name)
		if wanted <= 0 {
			continue
		}
		n := max(0, free(s, assumed, name)) / wanted
		// Maps have no order, so of equal limits the first by name is reported.
		if n < least.n || n == least.n && string(name) < least.limit {
			least = bound{n: n, limit: string(name)}
		}
	}
	b.lower(least.n, least.limit)
}

func (b *bound) capacity() Capacity {
	return Capacity{Replicas: int32(min(b.n, math.MaxInt32)), Limit: b.limit}
}

// free returns what a cluster has left of a resource; it is negative if the cluster is overcommitted. It saturates rather than overflows,
// since one pod may request more than all clusters have.
func free(s *clusterv1alpha1.ResourceSummary, assumed Assumed, name corev1.ResourceName) int64 {
	left := amount(s.Allocatable, name)
	for _, taken := range [...]int64{amount(s.Allocated, name), amount(s.Allocating, name), assumed.of(name)} {
		left = quantity.Minus(left, taken)
	}
	return left
}

// MoreFree returns whether a report of a cluster has more of anything free than the one before, in total or on nodes of some grade.
func MoreFree(before, after *clusterv1alpha1.ResourceSummary) bool {
	if after == nil {
		return false
	}
	if before == nil {
		return true
	}
	for name := range after.Allocatable {
		if free(before, Assumed{}, name) < free(after, Assumed{}, name) {
			return true
		}
	}
	counts := make(map[uint]int, len(before.AllocatableModelings))
	for _, m := range before.AllocatableModelings {
		counts[m.Grade] = m.Count
	}
	for _, m := range after.AllocatableModelings {
		if m.Count > counts[m.Grade] {
			return true
		}
	}
	return false
}

// amount is how much of a resource a list has: thousandths of a CPU, whole units of
// everything else, in whatever notation it is written.
func amount(list corev1.ResourceList, name corev1.ResourceName) int64 {
	q, ok := list[name]
	switch {
	case !ok:
		return 0
	case name == corev1.ResourceCPU:
		return quantity.MilliValue(q)
	default:
		return quantity.Value(q)
	}
}

// multiply multiplies two non-negative numbers and saturates at math.MaxInt64.
func multiply(a, b int64) int64 {
	if a > 0 && b > math.MaxInt64/a {
		return math.MaxInt64
	}
	return a * b
}
