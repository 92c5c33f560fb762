package v1alpha1

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Capacity returns status.resourceSummary as far as the hub believes it: allocatable is at most
// spec.capacityLimit, and of what that limits no use is negative. It is nil if the agent reported
// none. The caller must not change it: it may be that of the Cluster.
func (c *Cluster) Capacity() *ResourceSummary {
	reported := c.Status.ResourceSummary
	if reported == nil || len(c.Spec.CapacityLimit) == 0 {
		return reported
	}
	out := *reported
	out.Allocatable = maps.Clone(reported.Allocatable)
	for name, limit := range c.Spec.CapacityLimit {
		if claimed, ok := out.Allocatable[name]; ok && claimed.Cmp(limit) > 0 {
			out.Allocatable[name] = limit.DeepCopy()
		}
	}
	out.Allocated = atLeastNothing(reported.Allocated, c.Spec.CapacityLimit)
	out.Allocating = atLeastNothing(reported.Allocating, c.Spec.CapacityLimit)
	return &out
}

// atLeastNothing drops what is negative of the resources that are limited: it would add to what
// is free.
func atLeastNothing(list, limited corev1.ResourceList) corev1.ResourceList {
	out := maps.Clone(list)
	maps.DeleteFunc(out, func(name corev1.ResourceName, _ resource.Quantity) bool {
		q := list[name]
		_, ok := limited[name]
		return ok && q.Sign() < 0
	})
	return out
}
