package facts

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/quantity"
	"fairlead.dev/common/quota"
)

// Bounds on the quotas in a report, as in the schema of the Cluster.
const (
	mostQuotas    = 256
	mostResources = 32
	mostValues    = 16
	// mostOfQuotas is in characters; aroundQuota and aroundAmount are the JSON around each name.
	mostOfQuotas              = 224 << 10
	aroundQuota, aroundAmount = 100, 8
)

// Quotas keeps what the member's ResourceQuotas leave for pods.
type Quotas struct {
	quotas map[types.NamespacedName]quotaOf
}

// quotaOf is what one ResourceQuota leaves, and for which pods; for all if scope is nil.
type quotaOf struct {
	scope *clusterv1alpha1.PriorityClassScope
	free  amounts
}

// NewQuotas returns empty Quotas.
func NewQuotas() *Quotas { return &Quotas{quotas: map[types.NamespacedName]quotaOf{}} }

// Put adds or updates a ResourceQuota.
func (q *Quotas) Put(of *corev1.ResourceQuota) {
	key := types.NamespacedName{Namespace: of.Namespace, Name: of.Name}
	scope, ok := scopeOf(&of.Spec)
	free := freeOf(&of.Status)
	if !ok || len(free) == 0 {
		delete(q.quotas, key)
		return
	}
	q.quotas[key] = quotaOf{scope: scope, free: free}
}

// Drop removes a ResourceQuota.
func (q *Quotas) Drop(of *corev1.ResourceQuota) {
	delete(q.quotas, types.NamespacedName{Namespace: of.Namespace, Name: of.Name})
}

// Any returns whether there is any quota.
func (q *Quotas) Any() bool { return len(q.quotas) > 0 }

// Report returns what the quotas leave in some namespaces, in a stable order; nil if nothing is bounded. Of several
// quotas for the same pods the tightest counts.
func (q *Quotas) Report(namespaces sets.Set[string]) []clusterv1alpha1.NamespaceQuota {
	type key struct{ namespace, scope string }
	least := map[key]quotaOf{}
	for name, one := range q.quotas {
		if !namespaces.Has(name.Namespace) {
			continue
		}
		k := key{name.Namespace, scopeText(one.scope)}
		had, ok := least[k]
		if !ok {
			had = quotaOf{scope: one.scope, free: amounts{}}
		}
		for resource, free := range one.free {
			had.free.atMost(resource, free)
		}
		least[k] = had
	}
	keys := slices.SortedFunc(maps.Keys(least), func(a, b key) int {
		return cmp.Or(strings.Compare(a.namespace, b.namespace), strings.Compare(a.scope, b.scope))
	})
	var out []clusterv1alpha1.NamespaceQuota
	room := mostOfQuotas
	for _, k := range keys[:min(len(keys), mostQuotas)] {
		one := clusterv1alpha1.NamespaceQuota{Namespace: k.namespace, PriorityClass: least[k].scope, Free: least[k].free.all()}
		room -= len(k.namespace) + len(k.scope) + aroundQuota
		for name, free := range one.Free {
			room -= len(name) + len(free.String()) + aroundAmount
		}
		if room < 0 {
			break
		}
		out = append(out, one)
	}
	return out
}

// freeOf returns what a quota leaves of the resources that pods request, by the pods' names for them. It is zero
// where usage exceeds the quota.
func freeOf(status *corev1.ResourceQuotaStatus) amounts {
	out := amounts{}
	for name, hard := range status.Hard {
		resource, ok := requested(name)
		used, counted := status.Used[name]
		if ok && counted {
			out.atMost(resource, max(0, quantity.Minus(amount(resource, hard), amount(resource, used))))
		}
	}
	return out
}

// requested returns the pod resource that an entry of a quota bounds.
func requested(name corev1.ResourceName) (corev1.ResourceName, bool) {
	switch {
	case name == "count/pods":
		return corev1.ResourcePods, true
	case !quota.Known(name), strings.Contains(string(name), ".storageclass."):
		return "", false
	default:
		return corev1.ResourceName(strings.TrimPrefix(string(name), corev1.DefaultResourceRequestsPrefix)), true
	}
}

// scopeOf returns the pods that a quota bounds; ok is false if its scopes depend on something that the hub does not
// know about pods, such as whether they terminate.
func scopeOf(spec *corev1.ResourceQuotaSpec) (scope *clusterv1alpha1.PriorityClassScope, ok bool) {
	var all []corev1.ScopedResourceSelectorRequirement
	for _, name := range spec.Scopes {
		all = append(all, corev1.ScopedResourceSelectorRequirement{ScopeName: name, Operator: corev1.ScopeSelectorOpExists})
	}
	if spec.ScopeSelector != nil {
		all = append(all, spec.ScopeSelector.MatchExpressions...)
	}
	switch {
	case len(all) == 0:
		return nil, true
	case len(all) > 1, all[0].ScopeName != corev1.ResourceQuotaScopePriorityClass, len(all[0].Values) > mostValues:
		return nil, false
	case slices.ContainsFunc(all[0].Values, func(value string) bool { return len(validation.IsDNS1123Subdomain(value)) > 0 }):
		return nil, false // no PriorityClass can have a name that the member accepted here
	}
	return &clusterv1alpha1.PriorityClassScope{Operator: all[0].Operator, Values: slices.Sorted(slices.Values(all[0].Values))}, true
}

// scopeText returns the same text for equal scopes.
func scopeText(s *clusterv1alpha1.PriorityClassScope) string {
	if s == nil {
		return ""
	}
	return string(s.Operator) + " " + strings.Join(s.Values, ",")
}

// atMost sets an amount, unless the present one is lower.
func (a amounts) atMost(name corev1.ResourceName, value int64) {
	if had, ok := a[name]; !ok || value < had {
		a[name] = value
	}
}

// all returns the amounts as quantities, zeros included; only the first by name if there are too many.
func (a amounts) all() corev1.ResourceList {
	names := slices.Sorted(maps.Keys(a))
	out := make(corev1.ResourceList, len(a))
	for _, name := range names[:min(len(names), mostResources)] {
		out[name] = quantityOf(name, a[name])
	}
	return out
}
