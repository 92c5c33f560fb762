package facts

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/quantity"
)

// amounts are sums of resources: CPU in millicores, everything else in units. Sums saturate: anybody may request huge
// amounts in two pods that are never scheduled, and a sum that wrapped around would look like room in the cluster.
type amounts map[corev1.ResourceName]int64

func (a amounts) add(list corev1.ResourceList) {
	for name, q := range list {
		a[name] = quantity.Plus(a[name], amount(name, q))
	}
}

func (a amounts) sum(more amounts) {
	for name, value := range more {
		a[name] = quantity.Plus(a[name], value)
	}
}

func (a amounts) sub(less amounts) {
	for name, value := range less {
		a[name] = quantity.Minus(a[name], value)
	}
}

// Bounds on the resource names in one list of a report. A pod may request any number of names that no node offers,
// and the hub accepts all of a report or nothing.
const (
	mostNames = 96
	// mostOfNames is in characters.
	mostOfNames = 6 << 10
)

// list returns the amounts as quantities, without zeros; nil if none are left. Each resource has one notation, so
// that equal sums are equal texts. If there are too many names, those of Kubernetes itself come first.
func (a amounts) list() corev1.ResourceList {
	var out corev1.ResourceList
	names := slices.SortedFunc(maps.Keys(a), func(a, b corev1.ResourceName) int {
		return cmp.Or(strings.Count(string(a), "/")-strings.Count(string(b), "/"), cmp.Compare(a, b))
	})
	room := mostOfNames
	for _, name := range names {
		if a[name] == 0 || len(out) == mostNames || len(name) > room {
			continue
		}
		if out == nil {
			out = corev1.ResourceList{}
		}
		room -= len(name)
		out[name] = quantityOf(name, a[name])
	}
	return out
}

// of returns the amounts of those resources that others has as well, and of those that every node has.
func (a amounts) of(others amounts) amounts {
	out := amounts{}
	for name, value := range a {
		if _, ok := others[name]; ok || !strings.Contains(string(name), "/") {
			out[name] = value
		}
	}
	return out
}

func amount(name corev1.ResourceName, q resource.Quantity) int64 {
	if name == corev1.ResourceCPU {
		return quantity.MilliValue(q)
	}
	return quantity.Value(q)
}

func quantityOf(name corev1.ResourceName, value int64) resource.Quantity {
	switch name {
	case corev1.ResourceCPU:
		return *resource.NewMilliQuantity(value, resource.DecimalSI)
	case corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
		return *resource.NewQuantity(value, resource.BinarySI)
	default:
		return *resource.NewQuantity(value, resource.DecimalSI)
	}
}

// request returns what a pod requests: for each resource the sum over its containers or the largest init container,
// whichever is more, plus the overhead.
func request(spec *corev1.PodSpec) amounts {
	sum := amounts{}
	for i := range spec.Containers {
		sum.add(spec.Containers[i].Resources.Requests)
	}
	for i := range spec.InitContainers {
		for name, q := range spec.InitContainers[i].Resources.Requests {
			sum[name] = max(sum[name], amount(name, q))
		}
	}
	sum.add(spec.Overhead)
	return sum
}

// Resources adds up what the nodes offer, and what pods request of the resources that nodes offer, and counts the
// nodes per grade of the models.
func Resources(nodes *Nodes, pods *Pods, models []clusterv1alpha1.ResourceModel) *clusterv1alpha1.ResourceSummary {
	allocatable, allocating, allocated := amounts{}, amounts{}, amounts{}
	free := make(map[string]amounts, len(nodes.nodes))
	for name, one := range nodes.nodes {
		allocatable.sum(one.allocatable)
		if len(models) > 0 {
			free[name] = maps.Clone(one.allocatable)
		}
	}
	for _, one := range pods.pods {
		switch {
		case one.node == "":
			allocating.sum(one.ask.amounts)
			allocating[corev1.ResourcePods]++
		case one.over:
		default:
			allocated.sum(one.ask.amounts)
			allocated[corev1.ResourcePods]++
			if left, ok := free[one.node]; ok {
				left[corev1.ResourcePods]--
				left.sub(one.ask.amounts)
			}
		}
	}
	return &clusterv1alpha1.ResourceSummary{
		Allocatable:          allocatable.list(),
		Allocating:           allocating.of(allocatable).list(),
		Allocated:            allocated.of(allocatable).list(),
		AllocatableModelings: grades(free, models),
	}
}

// grades counts the nodes per model, in the order of the models. A node without room for a pod has no grade, nor has
// one below the first model.
func grades(free map[string]amounts, models []clusterv1alpha1.ResourceModel) []clusterv1alpha1.AllocatableModeling {
	if len(models) == 0 {
		return nil
	}
	out := make([]clusterv1alpha1.AllocatableModeling, len(models))
	for i, model := range models {
		out[i].Grade = model.Grade
	}
	for _, node := range free {
		if node[corev1.ResourcePods] <= 0 {
			continue
		}
		if i := gradeOf(node, models); i >= 0 {
			out[i].Count++
		}
	}
	return out
}

// gradeOf returns the index of a node's model, or -1: for each resource it takes the last model whose minimum the
// node has free, and returns the lowest of them.
func gradeOf(node amounts, models []clusterv1alpha1.ResourceModel) int {
	last := map[corev1.ResourceName]int{}
	for i, model := range models {
		for _, r := range model.Ranges {
			if _, ok := last[r.Name]; !ok {
				last[r.Name] = -1
			}
			if amount(r.Name, r.Min) <= node[r.Name] {
				last[r.Name] = i
			}
		}
	}
	if len(last) == 0 {
		return -1
	}
	grade := len(models) - 1
	for _, i := range last {
		grade = min(grade, i)
	}
	return grade
}
