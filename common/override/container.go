package override

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/interpreter/podtemplate"
)

// applyList changes the command or the arguments of a container or init container, whose names are unique within a
// pod. It returns why it had no effect; empty if it had one.
func applyList(obj *unstructured.Unstructured, field string, o *policyv1alpha1.CommandArgsOverrider, steps *budget) (string, error) {
	all := containers(obj, "containers", "initContainers")
	if err := steps.spend(1 + len(all)); err != nil {
		return "", err
	}
	if len(all) == 0 {
		return noTemplate, nil
	}
	found := false
	for _, container := range all {
		if container["name"] != o.ContainerName {
			continue
		}
		found = true
		current, _ := container[field].([]any)
		if err := steps.spend((len(current) + len(o.Value)) / wordsInStep); err != nil {
			return "", err
		}
		next := make([]any, 0, len(current)+len(o.Value))
		next = append(next, current...)
		switch o.Operator {
		case policyv1alpha1.OverrideAdd:
			for _, value := range o.Value {
				next = append(next, value)
			}
		case policyv1alpha1.OverrideRemove:
			gone := sets.New(o.Value...)
			next = slices.DeleteFunc(next, func(entry any) bool {
				s, ok := entry.(string)
				return ok && gone.Has(s)
			})
		default: // the API has no other operators
		}
		container[field] = next
	}
	if !found {
		return "no container has that name; correct containerName", nil
	}
	return "", nil
}

// containers returns the containers of an object's pod template in these fields, to be modified in place; none if it
// has no pod template, or a malformed one.
func containers(obj *unstructured.Unstructured, fields ...string) []map[string]any {
	spec := obj.Object
	for _, key := range podtemplate.Path(obj.GetKind()) {
		next, ok := spec[key].(map[string]any)
		if !ok {
			return nil
		}
		spec = next
	}
	var out []map[string]any
	for _, field := range fields {
		list, _ := spec[field].([]any)
		out = slices.Grow(out, len(list))
		for _, entry := range list {
			if container, ok := entry.(map[string]any); ok {
				out = append(out, container)
			}
		}
	}
	return out
}
