package plan

import (
	"fmt"
	"strings"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/selector"
)

// HighestPriority is the highest priority that a user may set. Kubernetes reserves the values above for itself, but any policy may name
// those classes.
const HighestPriority int32 = 1_000_000_000

// PolicyRemarks returns warnings about fields of a policy that have no effect, whatever it selects. Each names the field and says what to
// do.
func PolicyRemarks(p *policyv1alpha1.PropagationSpec) []string {
	var out []string
	for i := range p.ResourceSelectors {
		if s := &p.ResourceSelectors[i]; s.Name != "" && s.LabelSelector != nil {
			out = append(out, fmt.Sprintf("spec.resourceSelectors[%d].labelSelector has no effect beside name: %s %q is selected whatever its labels are. Leave one of the two out.",
				i, s.Kind, s.Name))
		}
	}
	scheduling := p.Placement.ReplicaScheduling
	if scheduling == nil || scheduling.WeightPreference == nil {
		return out
	}
	const field = "spec.placement.replicaScheduling.weightPreference has no effect with "
	switch {
	case scheduling.ReplicaSchedulingType == policyv1alpha1.Duplicated:
		out = append(out, field+"replicaSchedulingType Duplicated: each cluster gets all replicas. "+
			"Leave it out, or write replicaSchedulingType: Divided and replicaDivisionPreference: Weighted.")
	case scheduling.ReplicaDivisionPreference == policyv1alpha1.Aggregated:
		out = append(out, field+"replicaDivisionPreference Aggregated: replicas are packed into as few clusters as hold them. "+
			"Leave it out, or write replicaDivisionPreference: Weighted.")
	}
	return out
}

// StayRemarks returns warnings about objects that a policy selects and that stay on the hub. Each says what to do. Selectors by label, or
// for every object, in all namespaces silently leave out such objects.
func StayRemarks(p policyv1alpha1.Policy, e selector.Exclusions) []string {
	const advice = "Use another namespace, or ask the operator of the hub to change --skipped-propagating-namespaces."
	if ns := p.GetNamespace(); ns != "" {
		if why := e.WhyNamespace(ns); why != "" {
			return []string{fmt.Sprintf("Nothing that this policy selects is sent to any cluster: %s. %s", why, advice)}
		}
	}
	var out []string
	selectors := p.PropagationSpec().ResourceSelectors
	for i := range selectors {
		s := &selectors[i]
		namespace := s.Namespace
		if p.GetNamespace() != "" {
			namespace = p.GetNamespace()
		}
		why := e.Why(selector.Target{APIVersion: s.APIVersion, Kind: s.Kind, Namespace: namespace, Name: s.Name})
		if why == "" {
			continue
		}
		what := "every " + s.Kind
		if s.Name != "" {
			what = fmt.Sprintf("%s %q", s.Kind, s.Name)
		}
		out = append(out, fmt.Sprintf("spec.resourceSelectors[%d] selects %s, which is sent to no cluster: %s. Select something else.", i, what, why))
	}
	return out
}

// TemplateRemarks returns warnings about fields of the policy of a bound template that have no effect on it. Demand is the spec of its
// binding; judged says that the health of its kind can be determined.
func TemplateRemarks(in Input, demand *workv1alpha2.ResourceBindingSpec, judged bool) []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	spec, policy := in.Winner.PropagationSpec(), nameOf(in.Winner)
	template := fmt.Sprintf("%s %q", in.Template.Kind, in.Template.Name)
	if name := spec.SchedulerName; name != "" && name != contract.DefaultSchedulerName {
		say("spec.schedulerName of %s is %q, which is not the scheduler of this hub: %s waits until that scheduler writes spec.clusters of binding %q. "+
			"If there is none, make the policy anew without schedulerName.", policy, name, template, contract.BindingName(in.Template.Kind, in.Template.Name))
	}
	if spec.Failover != nil && spec.Failover.Application != nil && !judged {
		say("spec.failover.application of %s has no effect on %s: no rule says when a %s is unhealthy, so it never moves. "+
			"Make a ResourceInterpreterCustomization with healthInterpretation for the kind, or leave the field out.", policy, template, in.Template.Kind)
	}
	if bindings.HasComponents(demand) && divided(&spec.Placement) && !inOneCluster(&spec.Placement) {
		say("spec.placement.replicaScheduling of %s has no effect on %s: its components (%s) are not divided, and each of its clusters runs all of it. "+
			"To have it in one cluster, add {spreadByField: cluster, minGroups: 1, maxGroups: 1} to spec.placement.spreadConstraints; "+
			"to have it in each of them, write replicaSchedulingType: Duplicated.", policy, template, componentNames(demand.Components))
	}
	if asksForNodes(demand.ReplicaRequirements) && byCapacity(&spec.Placement) {
		say("%s runs on certain nodes only (nodeSelector or nodeAffinity of its pods), and spec.placement.replicaScheduling of %s counts what is free on all nodes of a cluster, "+
			"so a cluster may get more replicas than fit there. Leave out clusters with few such nodes, or divide by a staticWeightList.", template, policy)
	}
	if in.Priority != nil && *in.Priority > HighestPriority {
		say("spec.schedulePriority of %s counts as %d, not as %d: higher priorities are reserved for Kubernetes itself. Name another PriorityClass than %q.",
			policy, HighestPriority, *in.Priority, spec.SchedulePriority.PriorityClassName)
	}
	return out
}

// cappedPriority returns the priority, at most HighestPriority.
func cappedPriority(p *int32) *int32 {
	if p == nil || *p <= HighestPriority {
		return p
	}
	return new(HighestPriority)
}

func nameOf(p policyv1alpha1.Policy) string {
	if p.GetNamespace() == "" {
		return fmt.Sprintf("ClusterPropagationPolicy %q", p.GetName())
	}
	return fmt.Sprintf("PropagationPolicy %q", p.GetNamespace()+"/"+p.GetName())
}

func divided(p *policyv1alpha1.Placement) bool {
	return p.ReplicaScheduling != nil && p.ReplicaScheduling.ReplicaSchedulingType != policyv1alpha1.Duplicated
}

// byCapacity returns whether replicas are divided by the capacity of clusters.
func byCapacity(p *policyv1alpha1.Placement) bool {
	if !divided(p) {
		return false
	}
	s := p.ReplicaScheduling
	return s.ReplicaDivisionPreference == policyv1alpha1.Aggregated || s.WeightPreference != nil && s.WeightPreference.DynamicWeight != ""
}

// inOneCluster returns whether a placement is limited to one cluster.
func inOneCluster(p *policyv1alpha1.Placement) bool {
	for i := range p.SpreadConstraints {
		if c := &p.SpreadConstraints[i]; c.SpreadByField == policyv1alpha1.SpreadByCluster && c.MaxGroups == 1 {
			return true
		}
	}
	return false
}

func asksForNodes(r *workv1alpha2.ReplicaRequirements) bool {
	return r != nil && r.NodeClaim != nil && (len(r.NodeClaim.NodeSelector) > 0 || r.NodeClaim.HardNodeAffinity != nil)
}

func componentNames(components []workv1alpha2.Component) string {
	names := make([]string, 0, len(components))
	for i := range components {
		names = append(names, components[i].Name)
	}
	const most = 5
	if len(names) > most {
		names = append(names[:most], "…")
	}
	return strings.Join(names, ", ")
}
