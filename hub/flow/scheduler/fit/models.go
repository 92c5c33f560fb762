package fit

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/quantity"
)

// podsOfNode is the default maximum of pods of a kubelet.
const podsOfNode = 110

// grade is a number of nodes that are assumed to have the same resources free.
type grade struct {
	nodes int64
	// least is the lower ends of the grade's ranges.
	least corev1.ResourceList
}

// gradesOf returns the nodes of a cluster by grade, the smallest first; nil if the cluster does not grade its nodes, or reports a negative
// count.
func gradesOf(c *clusterv1alpha1.Cluster) []grade {
	counts := make(map[uint]int, len(c.Status.ResourceSummary.AllocatableModelings))
	for _, m := range c.Status.ResourceSummary.AllocatableModelings {
		if m.Count < 0 {
			return nil
		}
		counts[m.Grade] = m.Count
	}
	if len(counts) == 0 || len(c.Spec.ResourceModels) == 0 {
		return nil
	}
	models := slices.Clone(c.Spec.ResourceModels)
	slices.SortStableFunc(models, func(a, b clusterv1alpha1.ResourceModel) int { return cmp.Compare(a.Grade, b.Grade) })
	out := make([]grade, 0, len(models))
	for i := range models {
		count, ok := counts[models[i].Grade]
		if !ok {
			continue
		}
		g := grade{nodes: int64(count), least: make(corev1.ResourceList, len(models[i].Ranges))}
		for _, r := range models[i].Ranges {
			g.least[r.Name] = r.Min
		}
		out = append(out, g)
	}
	return out
}

// graded returns the resources that the grades have ranges for. Other resources are bounded only by the total.
func graded(grades []grade) map[corev1.ResourceName]bool {
	out := map[corev1.ResourceName]bool{}
	for i := range grades {
		for name := range grades[i].least {
			out[name] = true
		}
	}
	return out
}

// models lowers the bound to what fits node by node. Since replicas are all equal, the result is the sum of what each node holds by itself.
func (b *bound) models(c *clusterv1alpha1.Cluster, assumed Assumed, request corev1.ResourceList) {
	grades := gradesOf(c)
	if len(grades) == 0 {
		return
	}
	var wanted []demand
	for name := range graded(grades) {
		if w := amount(request, name); w > 0 {
			wanted = append(wanted, demand{name, w})
		}
	}
	if len(wanted) == 0 {
		return
	}
	var sum int64
	for i := range grades {
		holds := int64(podsOfNode)
		for _, w := range wanted {
			holds = min(holds, amount(grades[i].least, w.name)/w.n)
		}
		sum = quantity.Plus(sum, multiply(max(0, holds), grades[i].nodes))
	}
	// Convert what was assigned since the report into a number of these replicas.
	var worth int64
	for _, w := range wanted {
		worth = max(worth, roundUp(amount(assumed.Resources, w.name), w.n))
	}
	b.lower(max(0, sum-worth), LimitModels)
}

// demand is an amount of a resource.
type demand struct {
	name corev1.ResourceName
	n    int64
}

func roundUp(a, b int64) int64 {
	if a <= 0 {
		return 0
	}
	return (a-1)/b + 1
}
