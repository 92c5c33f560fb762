package selector

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
)

// Priority is how precisely a selector names a template. Between policies of the
// same explicit priority, the one that names the template more precisely wins.
type Priority int

// Priorities, from the least to the most precise.
const (
	// NoMatch : the template is not picked.
	NoMatch Priority = iota
	// MatchAll : every template of the kind is picked.
	MatchAll
	// MatchLabelSelector : the template is picked by its labels.
	MatchLabelSelector
	// MatchName : the template is picked by its name.
	MatchName
)

// Target has the fields of a template that selectors look at.
type Target struct {
	APIVersion string
	Kind       string
	// Namespace is empty for a cluster-scoped template.
	Namespace string
	Name      string
	Labels    map[string]string
}

// TargetOf returns what selectors look at in a template.
func TargetOf(template *unstructured.Unstructured) Target {
	return Target{
		APIVersion: template.GetAPIVersion(),
		Kind:       template.GetKind(),
		Namespace:  template.GetNamespace(),
		Name:       template.GetName(),
		Labels:     template.GetLabels(),
	}
}

// Resource returns how precisely the most precise of the selectors picks a template.
// Without selectors nothing is picked. A selector that is invalid picks nothing.
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

// ValidateResource returns an error that names the first label selector that is
// invalid and says why.
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

// matchLabels evaluates a label selector once. What does not match is told without parsing it, whatever else is
// wrong with it: an invalid one picks nothing either. Of most that match there is nothing to parse: a key or value
// that is no label equals no label.
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

// holds says whether an expression holds, if it is valid.
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
