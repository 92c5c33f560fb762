package podtemplate

import (
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

// Requirements returns what one pod needs; nil if it asks for nothing.
func Requirements(pod *corev1.PodSpec) *workv1alpha2.ReplicaRequirements {
	claim := nodeClaim(pod)
	requests := podRequests(pod)
	if claim == nil && len(requests) == 0 {
		return nil
	}
	return &workv1alpha2.ReplicaRequirements{
		NodeClaim:         claim,
		ResourceRequest:   requests,
		PriorityClassName: pod.PriorityClassName,
	}
}

func nodeClaim(pod *corev1.PodSpec) *workv1alpha2.NodeClaim {
	claim := &workv1alpha2.NodeClaim{NodeSelector: pod.NodeSelector, Tolerations: pod.Tolerations}
	if pod.Affinity != nil && pod.Affinity.NodeAffinity != nil {
		claim.HardNodeAffinity = pod.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	if claim.HardNodeAffinity == nil && len(claim.NodeSelector) == 0 && len(claim.Tolerations) == 0 {
		return nil
	}
	return claim
}

// podRequests returns, for each resource, the sum of the containers or the largest of
// the init containers, whichever is more, plus the overhead.
func podRequests(pod *corev1.PodSpec) corev1.ResourceList {
	total := corev1.ResourceList{}
	for i := range pod.Containers {
		add(total, containerRequests(&pod.Containers[i]))
	}
	for i := range pod.InitContainers {
		for name, quantity := range containerRequests(&pod.InitContainers[i]) {
			if have := total[name]; have.Cmp(quantity) < 0 {
				total[name] = quantity
			}
		}
	}
	add(total, pod.Overhead)
	return normalized(total)
}

// containerRequests returns the requests of a container, and its limits for what it
// does not request.
func containerRequests(c *corev1.Container) corev1.ResourceList {
	out := corev1.ResourceList{}
	maps.Copy(out, c.Resources.Limits)
	maps.Copy(out, c.Resources.Requests)
	return out
}

func add(total, more corev1.ResourceList) {
	for name, quantity := range more {
		sum := total[name].DeepCopy()
		sum.Add(quantity)
		total[name] = sum
	}
}

// normalized writes equal amounts in equal ways and drops what is 0, so that a binding
// changes only when the amounts do. It returns nil if nothing is left.
func normalized(list corev1.ResourceList) corev1.ResourceList {
	out := corev1.ResourceList{}
	for name, quantity := range list {
		if quantity.IsZero() {
			continue
		}
		switch {
		case name == corev1.ResourceCPU:
			out[name] = *resource.NewMilliQuantity(quantity.MilliValue(), resource.DecimalSI)
		case name == corev1.ResourceMemory, name == corev1.ResourceEphemeralStorage, strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix):
			out[name] = *resource.NewQuantity(quantity.Value(), resource.BinarySI)
		default:
			out[name] = *resource.NewQuantity(quantity.Value(), resource.DecimalSI)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}
