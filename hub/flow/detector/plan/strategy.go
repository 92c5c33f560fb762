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

// Strategy is the RolloutStrategy of a binding.
type Strategy struct {
	// Name is the name of the strategy; empty if changes reach all clusters at once.
	Name string
	// Forced says that the strategy selects the namespace or the policy, regardless of annotations on the policy and the template.
	Forced bool
}

// strategyOf returns the strategy of a template that a policy has or should have: the first by name that selects its namespace or the
// policy; otherwise the one that the template names; otherwise the one that the policy names.
//
// A strategy that was forced on a binding and was deleted stays on it, whatever tenants write on templates and policies: no change may
// reach all clusters at once because an object is missing. To end that, an operator removes the selectors before deleting the strategy, or
// creates the strategy again without selectors.
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

// Kept returns the strategy of a binding that no policy has, and that is rendered as before. It stays the same unless a strategy is forced
// on the namespace, or is not forced any more: leaving a template without a policy does not get rid of a forced strategy. A deleted
// strategy stays, and so does one that selected the policy, which is gone. Once a forced strategy is removed, the strategy that the
// template names applies, if the template is known.
//
// Attached bindings, and those that the detector did not create, get no strategy. Attached objects are rolled out with their workloads, and
// a strategy of their own would take them out of the workloads' revisions.
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

// named returns the strategy that the annotation of a template or a policy names, which may be "none"; false without the annotation.
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

// bounded cuts the value of a tenant's annotation that is copied to a binding, since the hub needs room for its own annotations there. A
// value that is longer than any name is no valid name, whether it is cut or not.
func bounded(value string) string { return prose.Cut(value, validation.DNS1123SubdomainMaxLength) }

// forcedOn returns the first strategy by name that selects the template, or the policy that has it; a nil policy means that none has it.
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

// SelectsNamespace returns whether a strategy selects a namespace or does not select by namespace; nil is for templates without a
// namespace.
func SelectsNamespace(s *fairleadv1alpha1.RolloutStrategy, namespace metav1.Object) bool {
	if s.Spec.NamespaceSelector == nil {
		return true
	}
	return namespace != nil && selects(s.Spec.NamespaceSelector, namespace)
}

// SelectsPolicy returns whether a strategy selects a policy or does not select by policy; nil is for templates without a policy.
func SelectsPolicy(s *fairleadv1alpha1.RolloutStrategy, policy policyv1alpha1.Policy) bool {
	return s.Spec.PolicySelector == nil || policy != nil && selects(s.Spec.PolicySelector, policy)
}

// selects returns whether a selector matches an object. An invalid selector, which admission rejects, matches none.
func selects(by *metav1.LabelSelector, obj metav1.Object) bool {
	selector, err := metav1.LabelSelectorAsSelector(by)
	return err == nil && selector.Matches(labels.Set(obj.GetLabels()))
}

func exists(strategies []*fairleadv1alpha1.RolloutStrategy, name string) bool {
	return strategyNamed(strategies, name) != nil
}

// strategyNamed returns the strategy with a name; nil if there is none.
func strategyNamed(strategies []*fairleadv1alpha1.RolloutStrategy, name string) *fairleadv1alpha1.RolloutStrategy {
	for _, s := range strategies {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// StrategyOn returns the strategy that is recorded on a binding.
func StrategyOn(b metav1.Object) Strategy {
	return Strategy{
		Name:   b.GetAnnotations()[contract.RolloutStrategyAnnotation],
		Forced: b.GetAnnotations()[contract.RolloutForcedAnnotation] != "",
	}
}

// Set records the strategy on a binding.
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
