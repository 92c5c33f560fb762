package plan

import policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"

// Ignored returns, sorted, the fields that a policy sets and that no stage of this version acts on. The placement is checked by the
// scheduler.
func Ignored(p *policyv1alpha1.PropagationSpec) []string {
	fields := []struct {
		name string
		set  bool
	}{
		{"association", p.Association},
	}
	var names []string
	for _, field := range fields {
		if field.set {
			names = append(names, field.name)
		}
	}
	return names
}
