package quota

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/evictions"
)

// admitted is the content of the annotation contract.AdmittedRequestsAnnotation.
type admitted struct {
	Requests   corev1.ResourceList `json:"requests,omitempty"`
	Components []component         `json:"components,omitempty"`
}

// component is one of several pod templates.
type component struct {
	Name     string              `json:"name"`
	Replicas int32               `json:"replicas"`
	Requests corev1.ResourceList `json:"requests,omitempty"`
}

// Admit returns the value of the annotation contract.AdmittedRequestsAnnotation for a binding all of whose requests
// are admitted.
func Admit(spec *workv1alpha2.ResourceBindingSpec) string {
	var a admitted
	if spec.ReplicaRequirements != nil {
		a.Requests = spec.ReplicaRequirements.ResourceRequest
	}
	for i := range spec.Components {
		c := component{Name: spec.Components[i].Name, Replicas: spec.Components[i].Replicas}
		if needs := spec.Components[i].ReplicaRequirements; needs != nil {
			c.Requests = needs.ResourceRequest
		}
		a.Components = append(a.Components, c)
	}
	raw, err := json.Marshal(a)
	if err != nil {
		return "" // impossible: quantities and names can be encoded
	}
	return string(raw)
}

// Admitted returns the spec of a binding with its requests replaced by the admitted ones: the spec itself if the
// annotation is empty or malformed.
func Admitted(spec *workv1alpha2.ResourceBindingSpec, annotation string) *workv1alpha2.ResourceBindingSpec {
	var a admitted
	if annotation == "" || json.Unmarshal([]byte(annotation), &a) != nil {
		return spec
	}
	out := *spec
	out.ReplicaRequirements = &workv1alpha2.ReplicaRequirements{ResourceRequest: a.Requests}
	out.Components = nil
	for _, c := range a.Components {
		out.Components = append(out.Components, workv1alpha2.Component{
			Name: c.Name, Replicas: c.Replicas, ReplicaRequirements: &workv1alpha2.ComponentReplicaRequirements{ResourceRequest: c.Requests},
		})
	}
	return &out
}

// InUse returns what a binding with these targets uses, counting its admitted requests, since its Works carry no
// others.
func InUse(b workv1alpha2.Binding, targets []workv1alpha2.TargetCluster) corev1.ResourceList {
	return UsageOf(b, b.GetAnnotations()[contract.AdmittedRequestsAnnotation], targets)
}

// UsageOf returns what a binding with these targets and these admitted requests uses.
func UsageOf(b workv1alpha2.Binding, admitted string, targets []workv1alpha2.TargetCluster) corev1.ResourceList {
	var past []workv1alpha2.Eviction
	if len(b.BindingSpec().GracefulEvictionTasks) > 0 {
		past = evictions.Of(b)
	}
	return Usage(Admitted(b.BindingSpec(), admitted), past, targets)
}

// Beyond describes the first of a manifest's requests that exceeds the admitted one, for resources in quotas; empty
// if none does.
func Beyond(quotas []Quota, admitted, requested corev1.ResourceList) string {
	for i := range quotas {
		q := &quotas[i]
		may, wants := Of(q.Overall, admitted), Of(q.Overall, requested)
		for _, name := range slices.Sorted(maps.Keys(wants)) {
			has, want := may[name], wants[name]
			if want.Cmp(has) > 0 {
				return fmt.Sprintf("it would use %s of %s instead of %s, as FederatedResourceQuota(%s/%s) counts it",
					want.String(), name, has.String(), q.Namespace, q.Name)
			}
		}
	}
	return ""
}
