package plan

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/common/contract"
)

// Strategy is the RolloutStrategy that a binding goes by.
type Strategy struct {
	// Name of it; empty if changes reach all clusters at once.
	Name string
	// Forced says that it selects the namespace or the policy, whatever people wrote on that and on the template.
	Forced bool
}

// strategyOf returns the strategy of a template: the first by name that selects its namespace or
// its policy; else that which the template names; else that which the policy names.
//
// A strategy that was forced on a binding and does not exist any more stays on it, whatever tenants write on templates and policies:
// nothing is sent to all clusters because something is absent. An operator who wants that takes the selector off before deleting
// the strategy, or makes it anew without one.
func strategyOf(in Input) Strategy {
	if name, selected := forcedOn(in); selected {
		return Strategy{Name: name, Forced: true}
	}
	if in.Binding != nil {
		if was := StrategyOn(in.Binding); was.Forced && !exists(in.Strategies, was.Name) {
			return was
		}
	}
	for _, obj := range []metav1.Object{in.Template, in.Winner} {
		switch named := obj.GetAnnotations()[contract.RolloutStrategyAnnotation]; named {
		case "":
		case contract.RolloutStrategyNone:
			return Strategy{}
		default:
			return Strategy{Name: named}
		}
	}
	return Strategy{}
}

// forcedOn returns the first strategy by name that selects the template.
func forcedOn(in Input) (string, bool) {
	strategies := slices.SortedFunc(slices.Values(in.Strategies), func(a, b *fairleadv1alpha1.RolloutStrategy) int { return strings.Compare(a.Name, b.Name) })
	for _, s := range strategies {
		forces := s.Spec.PolicySelector != nil || s.Spec.NamespaceSelector != nil
		if forces && SelectsNamespace(s, in.Namespace) && SelectsPolicy(s, in.Winner) {
			return s.Name, true
		}
	}
	return "", false
}

// SelectsNamespace says whether a strategy is forced on a namespace, as far as that decides; nil is that a template is in none.
func SelectsNamespace(s *fairleadv1alpha1.RolloutStrategy, namespace metav1.Object) bool {
	if s.Spec.NamespaceSelector == nil {
		return true
	}
	return namespace != nil && selects(s.Spec.NamespaceSelector, namespace)
}

// SelectsPolicy says whether a strategy is forced on a policy, as far as that decides.
func SelectsPolicy(s *fairleadv1alpha1.RolloutStrategy, policy metav1.Object) bool {
	return s.Spec.PolicySelector == nil || selects(s.Spec.PolicySelector, policy)
}

// selects says whether a selector picks an object. One that cannot be read picks none: admission refuses it.
func selects(by *metav1.LabelSelector, obj metav1.Object) bool {
	selector, err := metav1.LabelSelectorAsSelector(by)
	return err == nil && selector.Matches(labels.Set(obj.GetLabels()))
}

func exists(strategies []*fairleadv1alpha1.RolloutStrategy, name string) bool {
	return slices.ContainsFunc(strategies, func(s *fairleadv1alpha1.RolloutStrategy) bool { return s.Name == name })
}

// StrategyOn reads the strategy of a binding.
func StrategyOn(b metav1.Object) Strategy {
	return Strategy{
		Name:   b.GetAnnotations()[contract.RolloutStrategyAnnotation],
		Forced: b.GetAnnotations()[contract.RolloutForcedAnnotation] != "",
	}
}

// Set has a binding say its strategy.
func (s Strategy) Set(b metav1.Object) {
	if StrategyOn(b) == s {
		return
	}
	annotations := maps.Clone(b.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	delete(annotations, contract.RolloutStrategyAnnotation)
	delete(annotations, contract.RolloutForcedAnnotation)
	if s.Name != "" {
		annotations[contract.RolloutStrategyAnnotation] = s.Name
	}
	if s.Forced {
		annotations[contract.RolloutForcedAnnotation] = contract.LabelTrue
	}
	b.SetAnnotations(annotations)
}
