package selector

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
)

// Priority is how precisely a selector selects a template. Between policies of the same explicit priority, the more
// precise one wins.
type Priority int

// Priorities, from the least to the most precise.
const (
	// NoMatch means that the template is not selected.
	NoMatch Priority = iota
	// MatchAll means that all templates of the kind are selected.
	MatchAll
	// MatchLabelSelector means that the template is selected by its labels.
	MatchLabelSelector
	// MatchName means that the template is selected by its name.
	MatchName
)

// Target holds the fields of a template that selectors evaluate.
type Target struct {
	APIVersion string
	Kind       string
	// Namespace is empty for a cluster-scoped template.
	Namespace string
	Name      string
	Labels    map[string]string
}

// TargetOf returns the Target of a template.
func TargetOf(template *unstructured.Unstructured) Target {
	return Target{
		APIVersion: template.GetAPIVersion(),
		Kind:       template.GetKind(),
		Namespace:  template.GetNamespace(),
		Name:       template.GetName(),
		Labels:     template.GetLabels(),
	}
}

// Resource returns the precision of the most precise selector that selects a template. Without selectors nothing is
// selected. An invalid selector selects nothing.
func Resource(selectors []policyv1alpha1.ResourceSelector, t Target) Priority {
	best := NoMatch
	for i := range selectors {
		best = max(best, match(&selectors[i], t))
		if best == MatchName {
			break
		}
	}
	return best
}

// ValidateResource returns an error about the first invalid label selector.
func ValidateResource(selectors []policyv1alpha1.ResourceSelector) error {
	for i := range selectors {
		if _, err := metav1.LabelSelectorAsSelector(selectors[i].LabelSelector); err != nil {
			return fmt.Errorf("reading resourceSelectors[%d].labelSelector: %w", i, err)
		}
	}
	return nil
}

func match(s *policyv1alpha1.ResourceSelector, t Target) Priority {
	if s.APIVersion != t.APIVersion || s.Kind != t.Kind {
		return NoMatch
	}
	if s.Namespace != "" && s.Namespace != t.Namespace {
		return NoMatch
	}
	switch {
	case s.Name != "":
		if s.Name == t.Name {
			return MatchName
		}
	case s.LabelSelector == nil:
		return MatchAll
	case matchLabels(s.LabelSelector, t.Labels):
		return MatchLabelSelector
	}
	return NoMatch
}

// matchLabels evaluates a label selector once. A mismatch is returned without validating the rest: an invalid
// selector matches nothing either. Most matching selectors need no validation: an invalid key or value equals no
// label.
func matchLabels(s *metav1.LabelSelector, set map[string]string) bool {
	for key, want := range s.MatchLabels {
		if got, ok := set[key]; !ok || got != want {
			return false
		}
	}
	for i := range s.MatchExpressions {
		if !holds(&s.MatchExpressions[i], set) {
			return false
		}
	}
	if len(s.MatchExpressions) == 0 {
		return true
	}
	_, err := metav1.LabelSelectorAsSelector(s)
	return err == nil
}

// holds returns whether an expression is valid and holds.
func holds(e *metav1.LabelSelectorRequirement, set map[string]string) bool {
	got, has := set[e.Key]
	switch e.Operator {
	case metav1.LabelSelectorOpIn:
		return has && slices.Contains(e.Values, got)
	case metav1.LabelSelectorOpNotIn:
		return !has || !slices.Contains(e.Values, got)
	case metav1.LabelSelectorOpExists:
		return has
	case metav1.LabelSelectorOpDoesNotExist:
		return !has
	default:
		return false
	}
}
