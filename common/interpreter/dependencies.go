package interpreter

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
)

// CheckDependencies returns the dependencies that a rule named, without duplicates and
// sorted; or what is wrong with one of them.
func CheckDependencies(refs []configv1alpha1.DependentObjectReference) ([]configv1alpha1.DependentObjectReference, error) {
	for i, ref := range refs {
		if err := checkDependency(ref); err != nil {
			return nil, fmt.Errorf("dependency %d (%s %q): %w", i+1, ref.Kind, ref.Name, err)
		}
	}
	sorted := slices.Clone(refs)
	slices.SortStableFunc(sorted, configv1alpha1.DependentObjectReference.Compare)
	out := sorted[:0]
	for _, ref := range sorted {
		if !slices.ContainsFunc(out, func(o configv1alpha1.DependentObjectReference) bool { return equality.Semantic.DeepEqual(o, ref) }) {
			out = append(out, ref)
		}
	}
	return out, nil
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
