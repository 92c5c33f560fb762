package override

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
)

// applyList changes the command or the arguments of the containers of one name.
func applyList(obj *unstructured.Unstructured, field string, o *policyv1alpha1.CommandArgsOverrider, steps *budget) error {
	all := containers(obj)
	if err := steps.spend(1 + len(all)); err != nil {
		return err
	}
	for _, container := range all {
		if container["name"] != o.ContainerName {
			continue
		}
		current, _ := container[field].([]any)
		if err := steps.spend((len(current) + len(o.Value)) / wordsInStep); err != nil {
			return err
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
		default: // the API offers no other
		}
		container[field] = next
	}
	return nil
}
