package plan

import (
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/flow/detector/claim"
)

// Desired is what a binding is to say.
type Desired struct {
	// Kind of the template.
	Kind schema.GroupVersionKind
	// Demand of the template. Unless the binding is Current, all of it counts.
	Demand
	// Rules is the version of the rules by which the demand was read.
	Rules string
	// Priority is that of the PriorityClass that the policy names; nil if it names none.
	Priority *int32
	// ReturnToPreferred is what the policy's annotation of this name says; empty if it has
	// none.
	ReturnToPreferred string
	// Strategy is the one by which changes reach clusters.
	Strategy Strategy
	// SeenAt is when the template was looked at.
	SeenAt time.Time
	// Claim is that of the policy.
	Claim claim.Claim
	// Policy is what the policy asks for.
	Policy *policyv1alpha1.PropagationSpec
}

// Update makes a binding, new or read, say what its template and its policy ask for.
// The demand counts only if the binding is not Current: a change of a status alone must
// not wake the later stages. What belongs to others stays: clusters, eviction tasks,
// requiredBy, rescheduleTriggeredAt, suspension.scheduling, and labels and
// annotations of other keys.
func (d Desired) Update(b workv1alpha2.Binding) {
	spec, edited := b.BindingSpec(), !Current(b, d.Kind, d.Meta, d.Rules)
	if edited {
		spec.Resource = bindings.ReferTo(d.Kind, d.Meta)
		spec.Replicas = d.Replicas
		spec.ReplicaRequirements = d.Requirements
		spec.Components = d.Components
	}
	if r := spec.ReplicaRequirements; r != nil && r.Namespace != d.Meta.GetNamespace() {
		r = r.DeepCopy()
		r.Namespace = d.Meta.GetNamespace()
		spec.ReplicaRequirements = r
	}
	bindings.NameAfter(b, d.Kind, d.Meta)
	bindings.OwnedBy(b, d.Kind, d.Meta)
	annotations := maps.Clone(b.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[contract.TemplateFingerprintAnnotation] = bindings.MadeOf(d.Meta, d.Rules)
	delete(annotations, contract.ReturnToPreferredAnnotation)
	if d.ReturnToPreferred != "" {
		annotations[contract.ReturnToPreferredAnnotation] = d.ReturnToPreferred
	}
	switch {
	case d.Strategy.Name == "":
		delete(annotations, contract.TemplateSeenAnnotation)
	case edited:
		annotations[contract.TemplateSeenAnnotation] = d.SeenAt.UTC().Format(time.RFC3339Nano)
	}
	b.SetAnnotations(annotations)
	d.Strategy.Set(b)
	claim.Set(b, d.Claim)
	fromPolicy(spec, d.Policy)
	spec.WorkloadAffinityGroups = groups(d.Policy.Placement.WorkloadAffinity, d.Meta.GetLabels())
	spec.SchedulePriority = nil
	if d.Priority != nil {
		spec.SchedulePriority = &workv1alpha2.SchedulePriority{Priority: *d.Priority}
	}
}

// groups returns the groups that a template is in by its labels; nil if it is in none.
func groups(affinity *policyv1alpha1.WorkloadAffinity, labels map[string]string) *workv1alpha2.WorkloadAffinityGroups {
	if affinity == nil {
		return nil
	}
	group := func(key string) string {
		if value, ok := labels[key]; ok {
			return key + "=" + value
		}
		return ""
	}
	out := workv1alpha2.WorkloadAffinityGroups{}
	if affinity.Affinity != nil {
		out.AffinityGroup = group(affinity.Affinity.GroupByLabelKey)
	}
	if affinity.AntiAffinity != nil {
		out.AntiAffinityGroup = group(affinity.AntiAffinity.GroupByLabelKey)
	}
	if out == (workv1alpha2.WorkloadAffinityGroups{}) {
		return nil
	}
	return &out
}

// Owned says whether a binding belongs to this very template, and not to one of the
// same name that was there before or is of another kind.
func Owned(b metav1.Object, template metav1.Object) bool {
	ref := metav1.GetControllerOf(b)
	return ref == nil || ref.UID == template.GetUID()
}

// importsServices says whether a policy selects imported Services, which are of no use
// without the endpoints that they need. An API server that cannot fill in defaults
// stores such a policy as it was written.
func importsServices(p *policyv1alpha1.PropagationSpec) bool {
	return slices.ContainsFunc(p.ResourceSelectors, func(s policyv1alpha1.ResourceSelector) bool {
		return s.APIVersion == "multicluster.x-k8s.io/v1alpha1" && s.Kind == "ServiceImport"
	})
}

// propagatesDeps says whether what a workload needs follows it by a policy.
func propagatesDeps(p *policyv1alpha1.PropagationSpec) bool {
	return p.PropagateDeps || importsServices(p)
}

// fromPolicy copies what the policy asks for.
func fromPolicy(spec *workv1alpha2.ResourceBindingSpec, p *policyv1alpha1.PropagationSpec) {
	p = p.DeepCopy()
	spec.PropagateDeps = propagatesDeps(p)
	spec.SchedulerName = p.SchedulerName
	spec.Placement = &p.Placement
	spec.Failover = p.Failover
	spec.ConflictResolution = p.ConflictResolution
	spec.PreserveResourcesOnDeletion = p.PreserveResourcesOnDeletion

	suspension := workv1alpha2.Suspension{}
	if p.Suspension != nil {
		suspension.Suspension = *p.Suspension
	}
	if spec.Suspension != nil {
		suspension.Scheduling = spec.Suspension.Scheduling
	}
	if suspension == (workv1alpha2.Suspension{}) {
		spec.Suspension = nil
	} else {
		spec.Suspension = &suspension
	}
}
