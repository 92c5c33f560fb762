package fit

import (
	"cmp"
	"math"

	corev1 "k8s.io/api/core/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/quantity"
)

// Limits that are no resource.
const (
	// LimitPods : the nodes take no more pods.
	LimitPods = "pods"
	// LimitModels : there is enough in sum, but it is spread over nodes that are too
	// small.
	LimitModels = "models"
	// LimitNoSummary : the agent reported no resources yet, or took them back since the member does not show them any more, of which condition
	// CapacityUnknown tells.
	LimitNoSummary = "no summary"
)

// Capacity is how many more replicas, or sets of components, fit.
type Capacity struct {
	Replicas int32
	// Limit is what keeps it from being more: the name of a resource, or one of the
	// constants here.
	Limit string
}

// Amount is what so many pods request together.
type Amount struct {
	Resources corev1.ResourceList
	Pods      int64
}

// Assumed is what was assigned to a cluster and is not in its report yet: in all, and of that
// in each namespace.
type Assumed struct {
	Amount
	Namespaces map[string]Amount
}

// Replicas says how many more replicas of an application of a namespace, or of none, fit into
// a cluster. An application that requests nothing is bounded by pods alone.
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

// bound is the least of what was asked for so far.
type bound struct {
	n     int64
	limit string
}

// lower lowers the bound. The first of equal limits is the one that is told.
func (b *bound) lower(n int64, limit string) {
	if n < b.n {
		b.n, b.limit = n, limit
	}
}

// resources lowers the bound to what is free in sum for replicas that each request so much.
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
		// Maps have no order; of equal limits the first by name is told.
		if n < least.n || n == least.n && string(name) < least.limit {
			least = bound{n: n, limit: string(name)}
		}
	}
	b.lower(least.n, least.limit)
}

func (b *bound) capacity() Capacity {
	return Capacity{Replicas: int32(min(b.n, math.MaxInt32)), Limit: b.limit}
}

// free is what a cluster has left of a resource; less than nothing if it is
// overcommitted, by however much: one pod may ask for more than all clusters have.
func free(s *clusterv1alpha1.ResourceSummary, assumed Assumed, name corev1.ResourceName) int64 {
	left := amount(s.Allocatable, name)
	for _, taken := range [...]int64{amount(s.Allocated, name), amount(s.Allocating, name), assumed.of(name)} {
		left = quantity.Minus(left, taken)
	}
	return left
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

// multiply multiplies what is not negative and stops at the largest number.
func multiply(a, b int64) int64 {
	if a > 0 && b > math.MaxInt64/a {
		return math.MaxInt64
	}
	return a * b
}
