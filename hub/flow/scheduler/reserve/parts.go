package reserve

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
)

// Part is the number of pods of one pod template that a binding has in its clusters before and after an assignment, with the request of
// each.
type Part struct {
	Before, After []workv1alpha2.TargetCluster
	Request       corev1.ResourceList
}

// Parts returns the parts of an assignment: the replicas of a binding, or those of each of its components, of which each target has all.
func Parts(spec *workv1alpha2.ResourceBindingSpec, before, after []workv1alpha2.TargetCluster) []Part {
	if !bindings.HasComponents(spec) {
		out := Part{Before: before, After: after}
		if spec.ReplicaRequirements != nil {
			out.Request = spec.ReplicaRequirements.ResourceRequest
		}
		return []Part{out}
	}
	out := make([]Part, len(spec.Components))
	for i := range spec.Components {
		c := &spec.Components[i]
		out[i] = Part{Before: having(c, before), After: having(c, after)}
		if c.ReplicaRequirements != nil {
			out[i].Request = c.ReplicaRequirements.ResourceRequest
		}
	}
	return out
}

// having returns the targets with their replicas of a component: those that the target lists, or all if it lists none.
func having(c *workv1alpha2.Component, targets []workv1alpha2.TargetCluster) []workv1alpha2.TargetCluster {
	out := make([]workv1alpha2.TargetCluster, len(targets))
	for i := range targets {
		out[i] = workv1alpha2.TargetCluster{Name: targets[i].Name, Replicas: c.Replicas}
		if told := targets[i].Components; len(told) > 0 {
			out[i].Replicas = 0
			if at := slices.IndexFunc(told, func(t workv1alpha2.TargetComponent) bool { return t.Name == c.Name }); at >= 0 {
				out[i].Replicas = told[at].Replicas
			}
		}
	}
	return out
}

// Gained returns what the targets of a binding gained, except for what their clusters have reported or what is already reserved. Of
// components, it is all of them or nothing.
func (l *Ledger) Gained(b workv1alpha2.Binding, before []workv1alpha2.TargetCluster) []workv1alpha2.TargetCluster {
	after := b.BindingSpec().Clusters
	// Most changes of a binding do not change its targets.
	if slices.EqualFunc(after, before, func(a, b workv1alpha2.TargetCluster) bool { return a.Name == b.Name && a.Replicas == b.Replicas }) {
		return nil
	}
	whole := bindings.HasComponents(b.BindingSpec())
	had := make(map[string]int32, len(before))
	for i := range before {
		if _, ok := had[before[i].Name]; !ok {
			had[before[i].Name] = before[i].Replicas
		}
	}
	gains := map[string]int32{}
	for i := range after {
		target := &after[i]
		switch replicas, ok := had[target.Name]; {
		case !ok:
			gains[target.Name] = target.Replicas
		case !whole && target.Replicas > replicas:
			gains[target.Name] = target.Replicas - replicas
		}
	}
	if len(gains) == 0 {
		return nil // Missing reads all reports, which is needed only for gains
	}
	var out []workv1alpha2.TargetCluster
	for _, m := range Missing(b) {
		gain, ok := gains[m.Name]
		if !ok {
			continue
		}
		reserved := l.reserved(b, m.Name)
		m.Replicas = min(gain, m.Replicas-int32(min(reserved, int64(m.Replicas))))
		if whole && reserved == 0 || m.Replicas > 0 {
			out = append(out, m)
		}
	}
	return out
}
