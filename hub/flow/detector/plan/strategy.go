package plan

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/prose"
)

// Strategy is the RolloutStrategy that a binding goes by.
type Strategy struct {
	// Name of it; empty if changes reach all clusters at once.
	Name string
	// Forced says that it selects the namespace or the policy, whatever people wrote on that and on the template.
	Forced bool
}

// strategyOf returns the strategy of a template that a policy has or is to have: the first by name that selects its namespace or
// the policy; else that which the template names; else that which the policy names.
//
// A strategy that was forced on a binding and does not exist any more stays on it, whatever tenants write on templates and policies:
// nothing is sent to all clusters because something is absent. An operator who wants that takes the selector off before deleting
// the strategy, or makes it anew without one.
func strategyOf(in Input, policy policyv1alpha1.Policy) Strategy {
	if name, selected := forcedOn(in, policy); selected {
		return Strategy{Name: name, Forced: true}
	}
	if in.Binding != nil {
		if was := StrategyOn(in.Binding); was.Forced && !exists(in.Strategies, was.Name) {
			return was
		}
	}
	for _, obj := range []metav1.Object{in.Template, policy} {
		if s, says := named(obj); says {
			return s
		}
	}
	return Strategy{}
}

// Kept returns the strategy of a binding that no policy has, and that is rendered as before. It is what it was, unless one is forced on the
// namespace, or not any more: nobody is rid of that by leaving the template without a policy. A strategy that is gone stays, as does one that
// selected the policy, which is gone. Once one comes off, what the template names counts, as far as it is known.
//
// What only follows workloads goes out with them, and a strategy of its own would take it out of their revisions: none is put on it, nor on
// what the detector never made.
func Kept(in Input) Strategy {
	was := StrategyOn(in.Binding)
	ours := len(in.Binding.BindingSpec().RequiredBy) == 0 && bindings.FingerprintOn(in.Binding) != ""
	if name, selected := forcedOn(in, nil); selected && (was.Forced || ours) {
		return Strategy{Name: name, Forced: true}
	}
	if !was.Forced {
		return was
	}
	if by := strategyNamed(in.Strategies, was.Name); by == nil || by.Spec.PolicySelector != nil && SelectsNamespace(by, in.Namespace) {
		return was
	}
	if in.Template == nil {
		return Strategy{}
	}
	s, _ := named(in.Template)
	return s
}

// named returns the strategy that the annotation of a template or a policy names, which may be none; false if it does not say.
func named(obj metav1.Object) (Strategy, bool) {
	switch name := obj.GetAnnotations()[contract.RolloutStrategyAnnotation]; name {
	case "":
		return Strategy{}, false
	case contract.RolloutStrategyNone:
		return Strategy{}, true
	default:
		return Strategy{Name: bounded(name)}, true
	}
}

// bounded returns what a tenant writes in an annotation as it is repeated on a binding, whose annotations have to leave room for those of
// the hub. What is longer than any name is none, cut off or not.
func bounded(value string) string { return prose.Cut(value, validation.DNS1123SubdomainMaxLength) }

// forcedOn returns the first strategy by name that selects the template, or the policy that has it; nil is that none has.
func forcedOn(in Input, policy policyv1alpha1.Policy) (string, bool) {
	strategies := slices.SortedFunc(slices.Values(in.Strategies), func(a, b *fairleadv1alpha1.RolloutStrategy) int { return strings.Compare(a.Name, b.Name) })
	for _, s := range strategies {
		forces := s.Spec.PolicySelector != nil || s.Spec.NamespaceSelector != nil
		if forces && SelectsNamespace(s, in.Namespace) && SelectsPolicy(s, policy) {
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

// SelectsPolicy says whether a strategy is forced on a policy, as far as that decides; nil is that no policy has a template.
func SelectsPolicy(s *fairleadv1alpha1.RolloutStrategy, policy policyv1alpha1.Policy) bool {
	return s.Spec.PolicySelector == nil || policy != nil && selects(s.Spec.PolicySelector, policy)
}

// selects says whether a selector picks an object. One that cannot be read picks none: admission refuses it.
func selects(by *metav1.LabelSelector, obj metav1.Object) bool {
	selector, err := metav1.LabelSelectorAsSelector(by)
	return err == nil && selector.Matches(labels.Set(obj.GetLabels()))
}

func exists(strategies []*fairleadv1alpha1.RolloutStrategy, name string) bool {
	return strategyNamed(strategies, name) != nil
}

// strategyNamed returns the strategy of a name; nil if there is none.
func strategyNamed(strategies []*fairleadv1alpha1.RolloutStrategy, name string) *fairleadv1alpha1.RolloutStrategy {
	for _, s := range strategies {
		if s.Name == name {
			return s
		}
	}
	return nil
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
