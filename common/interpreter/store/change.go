package store

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
)

// change identifies the kinds whose rules may have changed.
type change struct {
	rules []configv1alpha1.Rule
}

// affects returns whether a kind is among them.
func (c change) affects(kind schema.GroupVersionKind) bool { return concern(c.rules, kind) }

func concern(rules []configv1alpha1.Rule, kind schema.GroupVersionKind) bool {
	return slices.ContainsFunc(rules, func(r configv1alpha1.Rule) bool {
		return among(r.APIGroups, kind.Group) && among(r.APIVersions, kind.Version) && among(r.Kinds, kind.Kind)
	})
}

func among(list []string, value string) bool {
	return slices.Contains(list, "*") || slices.Contains(list, value)
}

func (c change) empty() bool { return len(c.rules) == 0 }

// differences returns the kinds of all rules that were added, removed or changed.
func differences(before, after Sources) change {
	var c change
	for _, r := range [][2][]configv1alpha1.ResourceInterpreterCustomization{
		{before.Customizations, after.Customizations}, {after.Customizations, before.Customizations},
	} {
		for _, a := range r[0] {
			if !slices.ContainsFunc(r[1], func(b configv1alpha1.ResourceInterpreterCustomization) bool {
				return a.Name == b.Name && equality.Semantic.DeepEqual(a.Spec, b.Spec)
			}) {
				c.rules = append(c.rules, target(a.Spec.Target))
			}
		}
	}
	for _, r := range [][2][]configv1alpha1.ResourceInterpreterWebhookConfiguration{
		{before.Webhooks, after.Webhooks}, {after.Webhooks, before.Webhooks},
	} {
		for _, a := range r[0] {
			if !slices.ContainsFunc(r[1], func(b configv1alpha1.ResourceInterpreterWebhookConfiguration) bool {
				return a.Name == b.Name && equality.Semantic.DeepEqual(a.Webhooks, b.Webhooks)
			}) {
				c.rules = append(c.rules, rulesOf(a)...)
			}
		}
	}
	return c
}

// rulesOf returns the kinds for which a configuration has webhooks.
func rulesOf(c configv1alpha1.ResourceInterpreterWebhookConfiguration) []configv1alpha1.Rule {
	var out []configv1alpha1.Rule
	for _, w := range c.Webhooks {
		for _, rule := range w.Rules {
			out = append(out, rule.Rule)
		}
	}
	return out
}

func target(t configv1alpha1.CustomizationTarget) configv1alpha1.Rule {
	kind := schema.FromAPIVersionAndKind(t.APIVersion, t.Kind)
	return configv1alpha1.Rule{APIGroups: []string{kind.Group}, APIVersions: []string{kind.Version}, Kinds: []string{kind.Kind}}
}
