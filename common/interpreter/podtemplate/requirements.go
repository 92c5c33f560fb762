package podtemplate

import (
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/quantity"
)

// Requirements returns what one pod requires; nil if it requests nothing.
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

// podRequests returns what must be free on a node for each resource: the maximum of what the init containers need
// while the pod starts, and the sum of all containers afterwards. Sidecars, which are init containers that keep
// running, count for everything that starts after them. Pod-level requests replace these. The overhead is added.
func podRequests(pod *corev1.PodSpec) corev1.ResourceList {
	starting, running := corev1.ResourceList{}, corev1.ResourceList{}
	for i := range pod.InitContainers {
		c := &pod.InitContainers[i]
		requests := containerRequests(c)
		if p := c.RestartPolicy; p != nil && *p == corev1.ContainerRestartPolicyAlways {
			add(running, requests)
			continue
		}
		add(requests, running) // the sidecars started before it
		atLeast(starting, requests)
	}
	for i := range pod.Containers {
		add(running, containerRequests(&pod.Containers[i]))
	}
	atLeast(running, starting)
	if pod.Resources != nil {
		for name, q := range pod.Resources.Requests {
			if q.Sign() >= 0 {
				running[name] = q
			}
		}
	}
	add(running, pod.Overhead)
	return normalized(running)
}

// containerRequests returns the requests of a container, and its limits for resources that it does not request.
func containerRequests(c *corev1.Container) corev1.ResourceList {
	out := corev1.ResourceList{}
	maps.Copy(out, c.Resources.Limits)
	maps.Copy(out, c.Resources.Requests)
	return out
}

// add adds non-negative amounts. Pods of custom kinds are not validated before their controller creates them, and a
// negative amount would hide what the other containers request.
func add(total, more corev1.ResourceList) {
	for name, q := range more {
		if q.Sign() < 0 {
			continue
		}
		sum := total[name].DeepCopy()
		sum.Add(q)
		total[name] = sum
	}
}

// atLeast raises amounts to those of another list.
func atLeast(list, other corev1.ResourceList) {
	for name, q := range other {
		if have := list[name]; have.Cmp(q) < 0 {
			list[name] = q
		}
	}
}

// normalized gives equal amounts the same notation and drops zero amounts, so that a binding changes only when the
// amounts do. It also drops negative amounts, which must not count against a quota, and caps excessive ones at the
// largest number. It returns nil if nothing is left.
func normalized(list corev1.ResourceList) corev1.ResourceList {
	out := corev1.ResourceList{}
	for name, q := range list {
		if q.Sign() <= 0 {
			continue
		}
		switch {
		case name == corev1.ResourceCPU:
			out[name] = *resource.NewMilliQuantity(quantity.MilliValue(q), resource.DecimalSI)
		case name == corev1.ResourceMemory, name == corev1.ResourceEphemeralStorage, strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix):
			out[name] = *resource.NewQuantity(quantity.Value(q), resource.BinarySI)
		default:
			out[name] = *resource.NewQuantity(quantity.Value(q), resource.DecimalSI)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}
