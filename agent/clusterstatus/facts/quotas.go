package facts

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/quantity"
	"fairlead.dev/common/quota"
)

// What a report holds at most; the schema of the Cluster takes no more.
const (
	mostQuotas    = 256
	mostResources = 32
	mostValues    = 16
	// mostOfQuotas is in characters, aroundQuota and aroundAmount are how many of them stand around names.
	mostOfQuotas              = 224 << 10
	aroundQuota, aroundAmount = 100, 8
)

// Quotas is what is kept of the ResourceQuotas of a member that bound pods.
type Quotas struct {
	quotas map[types.NamespacedName]quotaOf
}

// quotaOf is what one ResourceQuota leaves, and of which pods it speaks; of all if the scope is nil.
type quotaOf struct {
	scope *clusterv1alpha1.PriorityClassScope
	free  amounts
}

// NewQuotas returns that of no quotas.
func NewQuotas() *Quotas { return &Quotas{quotas: map[types.NamespacedName]quotaOf{}} }

// Put takes over a ResourceQuota as it is now.
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

// Drop forgets a ResourceQuota.
func (q *Quotas) Drop(of *corev1.ResourceQuota) {
	delete(q.quotas, types.NamespacedName{Namespace: of.Namespace, Name: of.Name})
}

// Any says whether there is any.
func (q *Quotas) Any() bool { return len(q.quotas) > 0 }

// ContentIn returns the namespace in which a Work of the hub has content, or which it brings;
// empty if it has none, or does not say. Nothing that the hub sends changes its namespace.
func ContentIn(work metav1.Object) string {
	key, ok := bindings.KeyOf(work)
	if !ok {
		return work.GetLabels()[contract.FederatedResourceQuotaNamespaceLabel]
	}
	if key.Namespace == "" {
		if name, ok := strings.CutSuffix(key.Name, contract.BindingName("Namespace", "")); ok {
			return name
		}
	}
	return key.Namespace
}

// Report returns what the quotas of some namespaces leave free, in an order that is always
// the same; nil if nothing is bounded. Of several quotas about the same pods the tightest counts.
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

// freeOf returns what a quota leaves of what pods request, by the names that pods have for it.
// Where more is used than there may be, nothing is left.
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

// requested returns which resource of a pod a bound of a quota is about.
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

// scopeOf returns which pods a quota bounds; not ok if it is told by something that the hub
// does not know of pods, such as whether they terminate.
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
		return nil, false // the member takes names that no PriorityClass can have
	}
	return &clusterv1alpha1.PriorityClassScope{Operator: all[0].Operator, Values: slices.Sorted(slices.Values(all[0].Values))}, true
}

// scopeText is the same for equal scopes.
func scopeText(s *clusterv1alpha1.PriorityClassScope) string {
	if s == nil {
		return ""
	}
	return string(s.Operator) + " " + strings.Join(s.Values, ",")
}

// atMost lowers an amount, or takes it over.
func (a amounts) atMost(name corev1.ResourceName, value int64) {
	if had, ok := a[name]; !ok || value < had {
		a[name] = value
	}
}

// all returns the amounts as quantities, with zeros; the first by name if they are too many.
func (a amounts) all() corev1.ResourceList {
	names := slices.Sorted(maps.Keys(a))
	out := make(corev1.ResourceList, len(a))
	for _, name := range names[:min(len(names), mostResources)] {
		out[name] = quantityOf(name, a[name])
	}
	return out
}
