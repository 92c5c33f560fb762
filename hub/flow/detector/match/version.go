package match

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/selector"
)

// An API server serves one object in several versions of a group, and a policy may select it in any of them. The policy that has it in one
// version has it in all.

// Versions returns the apiVersions of a template's group in which a policy selects the template, the newest first, whether or not they are
// served.
func Versions(p policyv1alpha1.Policy, t selector.Target) []string {
	if ns := p.GetNamespace(); ns != "" && ns != t.Namespace {
		return nil
	}
	group, selectors := groupOf(t.APIVersion), p.PropagationSpec().ResourceSelectors
	var out []string
	for i := range selectors {
		as := inVersion(t, selectors[i].APIVersion)
		if slices.Contains(out, as.APIVersion) || selector.Resource(selectors[i:i+1], as) == selector.NoMatch {
			continue
		}
		if as.APIVersion == t.APIVersion || groupOf(as.APIVersion) == group {
			out = append(out, as.APIVersion)
		}
	}
	slices.SortFunc(out, newestFirst)
	return out
}

// Version returns the apiVersion in which a template that a policy has is read: current, while the policy selects it there; otherwise the
// newest. The versions in others and the template's own are served, and take precedence over those that are not. The policy must select the
// template in at least one version.
func Version(p policyv1alpha1.Policy, t selector.Target, current string, others ...string) string {
	all := Versions(p, t)
	served := slices.DeleteFunc(slices.Clone(all), func(v string) bool { return v != t.APIVersion && !slices.Contains(others, v) })
	switch {
	case slices.Contains(served, current):
		return current
	case len(served) > 0:
		return served[0]
	case slices.Contains(all, current):
		return current
	case len(all) > 0:
		return all[0]
	default:
		return t.APIVersion
	}
}

// Others returns the other apiVersions of a kind among the given versions, the newest first.
func Others(kind schema.GroupVersionKind, versions []string) []string {
	var out []string
	for _, other := range versions {
		if other != kind.Version {
			out = append(out, schema.GroupVersion{Group: kind.Group, Version: other}.String())
		}
	}
	slices.SortFunc(out, newestFirst)
	return out
}

// newestFirst sorts apiVersions of one group: v2, v1, v1beta1, v1alpha1.
func newestFirst(a, b string) int {
	return cmp.Or(version.CompareKubeAwareVersionStrings(versionOf(b), versionOf(a)), cmp.Compare(a, b))
}

func groupOf(apiVersion string) string { return schema.FromAPIVersionAndKind(apiVersion, "").Group }

func versionOf(apiVersion string) string { return schema.FromAPIVersionAndKind(apiVersion, "").Version }

// inVersion returns a target with another version.
func inVersion(t selector.Target, apiVersion string) selector.Target {
	t.APIVersion = apiVersion
	return t
}

// precision returns how precisely a policy selects a template, in its version or in another one.
func precision(p policyv1alpha1.Policy, t selector.Target, others []string) selector.Priority {
	best := selector.Resource(p.PropagationSpec().ResourceSelectors, t)
	for _, apiVersion := range others {
		best = max(best, selector.Resource(p.PropagationSpec().ResourceSelectors, inVersion(t, apiVersion)))
	}
	return best
}
