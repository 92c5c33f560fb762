package interpreter

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
)

// maxDependencies bounds the dependencies of an object, since the annotation that records them holds no more.
const maxDependencies = 2000

// CheckDependencies returns the dependencies that a rule returned, deduplicated and sorted; or an error if one of
// them is invalid or there are too many.
func CheckDependencies(refs []configv1alpha1.DependentObjectReference) ([]configv1alpha1.DependentObjectReference, error) {
	for i, ref := range refs {
		if err := checkDependency(ref); err != nil {
			return nil, fmt.Errorf("dependency %d (%s %q): %w", i+1, ref.Kind, ref.Name, err)
		}
	}
	out := make([]configv1alpha1.DependentObjectReference, 0, min(len(refs), maxDependencies))
	known := map[dependency]bool{}
	for _, ref := range refs {
		key, err := keyOf(ref)
		if err != nil {
			return nil, err
		}
		if known[key] {
			continue
		}
		if len(out) == maxDependencies {
			return nil, fmt.Errorf("the rule names more than %d objects, which is as many as one may need; name those of a kind by a labelSelector", maxDependencies)
		}
		known[key] = true
		out = append(out, ref)
	}
	slices.SortStableFunc(out, configv1alpha1.DependentObjectReference.Compare)
	return out, nil
}

// dependency is a reference in a comparable form.
type dependency struct{ apiVersion, kind, namespace, name, selector string }

func keyOf(ref configv1alpha1.DependentObjectReference) (dependency, error) {
	key := dependency{apiVersion: ref.APIVersion, kind: ref.Kind, namespace: ref.Namespace, name: ref.Name}
	if ref.LabelSelector != nil {
		selector, err := json.Marshal(ref.LabelSelector)
		if err != nil {
			return dependency{}, fmt.Errorf("encoding the labelSelector of %s %q: %w", ref.Kind, ref.Name, err)
		}
		key.selector = string(selector)
	}
	return key, nil
}

func checkDependency(ref configv1alpha1.DependentObjectReference) error {
	switch {
	case ref.APIVersion == "":
		return errors.New("it has no apiVersion")
	case ref.Kind == "":
		return errors.New("it has no kind")
	case ref.Name == "" && ref.LabelSelector == nil:
		return errors.New("it has neither a name nor a labelSelector")
	}
	if ref.LabelSelector != nil {
		if _, err := metav1.LabelSelectorAsSelector(ref.LabelSelector); err != nil {
			return fmt.Errorf("its labelSelector: %w", err)
		}
	}
	return nil
}
