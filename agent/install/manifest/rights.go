package manifest

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// lookRules are what every agent reads: the state of the member as a whole.
func lookRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"nodes", "pods", "resourcequotas"}, Verbs: []string{"list", "watch"}},
		{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get", "list", "watch"}},
		{APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"}, Verbs: []string{"get", "list", "watch"}},
		{NonResourceURLs: []string{"/readyz", "/healthz", "/version"}, Verbs: []string{"get"}},
	}
}

// applyRules are what it takes to apply objects of some kinds, each RESOURCE or
// RESOURCE.GROUP; none is all kinds. What an agent never does is not among it: to update as a
// whole, to delete a collection, to impersonate.
func applyRules(kinds []string) []rbacv1.PolicyRule {
	verbs := []string{"get", "list", "watch", "create", "patch", "delete"}
	if len(kinds) == 0 {
		return append([]rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: verbs}}, grantRules("roles", "clusterroles")...)
	}
	byGroup := map[string][]string{}
	for _, kind := range kinds {
		resource, group, _ := strings.Cut(kind, ".")
		byGroup[group] = append(byGroup[group], resource)
	}
	var out []rbacv1.PolicyRule
	for _, group := range sorted(byGroup) {
		resources := slices.Compact(slices.Sorted(slices.Values(byGroup[group])))
		out = append(out, rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: verbs})
		if group == rbacv1.GroupName {
			out = append(out, grantRules(slices.DeleteFunc(slices.Clone(resources), func(r string) bool { return !strings.HasSuffix(r, "roles") })...)...)
		}
	}
	return out
}

// grantRules let an agent apply roles that give more than it has itself: without them
// Kubernetes refuses these roles and bindings to them.
func grantRules(roles ...string) []rbacv1.PolicyRule {
	if len(roles) == 0 {
		return nil
	}
	return []rbacv1.PolicyRule{{APIGroups: []string{rbacv1.GroupName}, Resources: roles, Verbs: []string{"bind", "escalate"}}}
}

// stateRules are for the Secret in which the agent keeps what it is on the hub.
func stateRules(secret string) []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{secret}, Verbs: []string{"get", "patch"}}}
}

func sorted(m map[string][]string) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
