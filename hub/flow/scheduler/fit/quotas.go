package fit

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/quantity"
)

// limitQuota is the prefix of limits by ResourceQuotas in the member.
const limitQuota = "ResourceQuota: "

// ByQuota returns whether a limit is by a ResourceQuota in the member.
func ByQuota(limit string) bool { return strings.HasPrefix(limit, limitQuota) }

// party is the pods of one pod template.
type party struct {
	// class is the name of their priority class.
	class    string
	request  corev1.ResourceList
	replicas int64
}

// quotas lowers the bound to the number of units that the ResourceQuotas of the application's namespace leave room for. What was assigned
// there and is not reported yet counts against all quotas, whatever its priority class.
func (b *bound) quotas(c *clusterv1alpha1.Cluster, namespace string, assumed Assumed, unit []party) {
	if namespace == "" {
		return
	}
	for i := range c.Status.NamespaceQuotas {
		q := &c.Status.NamespaceQuotas[i]
		if q.Namespace != namespace {
			continue
		}
		least := bound{n: b.n, limit: b.limit}
		for name := range q.Free {
			var wanted int64
			for j := range unit {
				if picks(q.PriorityClass, unit[j].class) {
					wanted = quantity.Plus(wanted, multiply(max(0, unit[j].of(name)), unit[j].replicas))
				}
			}
			if wanted <= 0 {
				continue
			}
			taken := assumed.Namespaces[namespace]
			n, limit := max(0, quantity.Minus(amount(q.Free, name), taken.of(name)))/wanted, limitQuota+string(name)
			// Maps have no order, so of equal limits the first by name is reported.
			if n < least.n || n == least.n && n < b.n && limit < least.limit {
				least = bound{n: n, limit: limit}
			}
		}
		b.lower(least.n, least.limit)
	}
}

// of returns how much of a resource one pod requests.
func (p *party) of(name corev1.ResourceName) int64 {
	if name == corev1.ResourcePods {
		return 1
	}
	return amount(p.request, name)
}

// of returns how much of a resource the amount contains.
func (a Amount) of(name corev1.ResourceName) int64 {
	if name == corev1.ResourcePods {
		return a.Pods
	}
	return amount(a.Resources, name)
}

// picks returns whether a quota applies to pods of a priority class.
func picks(scope *clusterv1alpha1.PriorityClassScope, class string) bool {
	if scope == nil {
		return true
	}
	switch named := slices.Contains(scope.Values, class); scope.Operator {
	case corev1.ScopeSelectorOpExists:
		return class != ""
	case corev1.ScopeSelectorOpDoesNotExist:
		return class == ""
	case corev1.ScopeSelectorOpIn:
		return named
	case corev1.ScopeSelectorOpNotIn:
		return !named
	default:
		return false
	}
}

// MoreFreeByQuota returns whether the ResourceQuotas of a cluster leave more of anything free than before.
func MoreFreeByQuota(before, after []clusterv1alpha1.NamespaceQuota) bool {
	type key struct{ namespace, scope string }
	keyOf := func(q *clusterv1alpha1.NamespaceQuota) key {
		if q.PriorityClass == nil {
			return key{namespace: q.Namespace}
		}
		return key{q.Namespace, string(q.PriorityClass.Operator) + " " + strings.Join(q.PriorityClass.Values, ",")}
	}
	now := make(map[key]corev1.ResourceList, len(after))
	for i := range after {
		now[keyOf(&after[i])] = after[i].Free
	}
	for i := range before {
		free, ok := now[keyOf(&before[i])]
		for name, was := range before[i].Free {
			is, bounded := free[name]
			if !ok || !bounded || is.Cmp(was) > 0 {
				return true
			}
		}
	}
	return false
}
