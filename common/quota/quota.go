package quota

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
)

// requestsPrefix is the prefix of an alternative name of requests: requests.cpu is cpu.
const requestsPrefix = "requests."

// Quota is a FederatedResourceQuota from the view of one binding.
type Quota struct {
	// Namespace and Name are those of the FederatedResourceQuota.
	Namespace, Name string
	// Overall is the total that the quota allows.
	Overall corev1.ResourceList
	// UsedByOthers is the total usage of the other bindings.
	UsedByOthers corev1.ResourceList
}

// For returns the quotas of a namespace, without those being deleted, from the view of a binding: others is what the
// other bindings of the namespace use.
func For(quotas []policyv1alpha1.FederatedResourceQuota, others corev1.ResourceList) []Quota {
	out := make([]Quota, 0, len(quotas))
	for i := range quotas {
		if q := &quotas[i]; q.DeletionTimestamp.IsZero() {
			out = append(out, Quota{Namespace: q.Namespace, Name: q.Name, Overall: q.Spec.Overall, UsedByOthers: others})
		}
	}
	return out
}

// Usage returns what a binding with these targets uses, by the resource names of pods; pods are counted too.
//
// Copies that are being moved away still count unless they are replaced: their room is not given to others meanwhile.
// past is the binding's history of evictions; those in progress tell which targets replace a copy of a workload that
// is not divided.
func Usage(spec *workv1alpha2.ResourceBindingSpec, past []workv1alpha2.Eviction, targets []workv1alpha2.TargetCluster) corev1.ResourceList {
	if bindings.HasComponents(spec) {
		leaving := max(len(spec.GracefulEvictionTasks)-len(bindings.Replacing(spec, past, targets)), 0)
		return ofComponents(spec, int64(len(targets)+leaving))
	}
	var replicas, leaving int64
	for i := range targets {
		replicas += int64(targets[i].Replicas)
	}
	for i := range spec.GracefulEvictionTasks {
		if task := &spec.GracefulEvictionTasks[i]; task.Replicas != nil {
			leaving += int64(*task.Replicas)
		}
	}
	if bindings.Divided(spec) {
		leaving = min(leaving, max(int64(spec.Replicas)-replicas, 0))
	} else {
		for _, target := range bindings.Replacing(spec, past, targets) {
			leaving -= int64(target.Replicas)
		}
		leaving = max(leaving, 0)
	}
	replicas += leaving
	if replicas == 0 {
		return nil
	}
	return pods(spec.ReplicaRequirements, replicas)
}

// ofComponents returns what all components use in this number of clusters.
func ofComponents(spec *workv1alpha2.ResourceBindingSpec, clusters int64) corev1.ResourceList {
	sum := corev1.ResourceList{}
	for i := range spec.Components {
		c := &spec.Components[i]
		var requirements *workv1alpha2.ReplicaRequirements
		if c.ReplicaRequirements != nil {
			requirements = &workv1alpha2.ReplicaRequirements{ResourceRequest: c.ReplicaRequirements.ResourceRequest}
		}
		Add(sum, pods(requirements, int64(c.Replicas)*clusters))
	}
	return sum
}

// pods returns what this number of pods requests. Negative amounts count as zero: bindings written by an older hub
// may contain them, and they would enlarge the quota for the others in the namespace.
func pods(requirements *workv1alpha2.ReplicaRequirements, n int64) corev1.ResourceList {
	out := corev1.ResourceList{}
	if requirements != nil {
		for name, amount := range requirements.ResourceRequest {
			if amount.Sign() < 0 {
				continue
			}
			amount = amount.DeepCopy()
			amount.Mul(n)
			out[name] = amount
		}
	}
	out[corev1.ResourcePods] = *resource.NewQuantity(n, resource.DecimalSI)
	return out
}

// Add adds a usage to a sum.
func Add(sum, used corev1.ResourceList) {
	for name, amount := range used {
		total := sum[name].DeepCopy()
		total.Add(amount)
		sum[name] = total
	}
}

// Of returns the part of a usage that a quota bounds, by the quota's resource names. Resources that no pod requests,
// such as object counts and limits, are left out.
func Of(bound, usage corev1.ResourceList) corev1.ResourceList {
	out := corev1.ResourceList{}
	for name := range bound {
		if !Known(name) {
			continue
		}
		amount, ok := usage[corev1.ResourceName(strings.TrimPrefix(string(name), requestsPrefix))]
		if !ok {
			amount = resource.MustParse("0")
		}
		out[name] = amount.DeepCopy()
	}
	return out
}

// Known returns whether a quota's resource is one whose usage bindings determine: requests of pods, and the number of
// pods.
func Known(name corev1.ResourceName) bool {
	switch name {
	case corev1.ResourceServices, corev1.ResourceServicesLoadBalancers, corev1.ResourceServicesNodePorts,
		corev1.ResourceConfigMaps, corev1.ResourceSecrets, corev1.ResourceReplicationControllers, corev1.ResourceQuotas,
		corev1.ResourcePersistentVolumeClaims, corev1.ResourceRequestsStorage:
		return false
	default:
		return !strings.HasPrefix(string(name), "limits.") && !strings.HasPrefix(string(name), "count/")
	}
}

// Exceeded describes the quota that a binding with a changed usage would exceed; empty if none. A resource whose
// usage does not increase is not blocked by a quota that was lowered.
func Exceeded(quotas []Quota, before, after corev1.ResourceList) string {
	for i := range quotas {
		q := &quotas[i]
		was, is, others := Of(q.Overall, before), Of(q.Overall, after), Of(q.Overall, q.UsedByOthers)
		for _, name := range slices.Sorted(maps.Keys(is)) {
			want, had := is[name], was[name]
			if want.Cmp(had) <= 0 {
				continue
			}
			sum, limit := others[name], q.Overall[name]
			sum.Add(want)
			if sum.Cmp(limit) > 0 {
				return fmt.Sprintf("FederatedResourceQuota(%s/%s) exceeded for resource %s: requested sum %s, limit %s.",
					q.Namespace, q.Name, name, sum.String(), limit.String())
			}
		}
	}
	return ""
}
