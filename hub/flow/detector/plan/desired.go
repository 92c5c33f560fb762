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

// Desired is the desired content of a binding.
type Desired struct {
	// Kind is the kind of the template.
	Kind schema.GroupVersionKind
	// Demand is what the template asks for. It is used only if the binding is not Current.
	Demand
	// Rules is the version of the interpretation rules by which the demand was read.
	Rules string
	// Priority is the value of the PriorityClass that the policy names; nil if it names none.
	Priority *int32
	// ReturnToPreferred is the value of the policy's annotation of that name; empty if it has none.
	ReturnToPreferred string
	// Strategy is the strategy by which changes reach the clusters.
	Strategy Strategy
	// SeenAt is when the template was read.
	SeenAt time.Time
	// Claim is the claim of the policy.
	Claim claim.Claim
	// Policy is the spec of the policy.
	Policy *policyv1alpha1.PropagationSpec
}

// Update changes a binding, new or read, to what its template and its policy ask for. The demand is written only if the binding is not
// Current, because a mere change of the template's status must not trigger later stages. What others own stays: clusters, eviction tasks,
// requiredBy, rescheduleTriggeredAt, suspension.scheduling, and labels and annotations with other keys.
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

// groups returns the workload affinity groups of a template by its labels; nil if it has none.
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

// Owned returns whether a binding belongs to this template, not to an earlier one of the same name or one of another kind.
func Owned(b metav1.Object, template metav1.Object) bool {
	ref := metav1.GetControllerOf(b)
	return ref == nil || ref.UID == template.GetUID()
}

// importsServices returns whether a policy selects imported Services, which need their endpoints to work. The default for propagateDeps in
// this case must be applied here, because API servers that cannot fill in such defaults store the policy as it was written.
func importsServices(p *policyv1alpha1.PropagationSpec) bool {
	return slices.ContainsFunc(p.ResourceSelectors, func(s policyv1alpha1.ResourceSelector) bool {
		return s.APIVersion == "multicluster.x-k8s.io/v1alpha1" && s.Kind == "ServiceImport"
	})
}

// propagatesDeps returns whether the dependencies of a workload are propagated with it by a policy.
func propagatesDeps(p *policyv1alpha1.PropagationSpec) bool {
	return p.PropagateDeps || importsServices(p)
}

// fromPolicy copies the fields that the policy determines.
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
