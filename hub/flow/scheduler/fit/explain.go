package fit

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/prose"
	"fairlead.dev/common/selector"
)

// maxNames is how many clusters of a peer an explanation names.
const maxNames = 5

// Explain returns in detail, with the values, why a filter rejected a cluster; empty if the filter's reason says everything. It is for
// people who ask, not for every decision. It is cut to the length of a condition's message.
func Explain(name string, q *Query, c *clusterv1alpha1.Cluster) string {
	return prose.Cut(explain(name, q, c), prose.OfCondition)
}

func explain(name string, q *Query, c *clusterv1alpha1.Cluster) string {
	switch name {
	case ClusterAffinity:
		return explainAffinity(q.Selector, c)
	case NamespaceClusters:
		if len(c.Labels) == 0 {
			return "the cluster has no labels"
		}
		return "the cluster has the labels " + labels.Set(c.Labels).String()
	case APIEnablement:
		return fmt.Sprintf("the cluster does not serve %s of %s", q.Kind, q.APIVersion)
	case WorkloadAffinity:
		for _, peer := range q.Peers.Together {
			if peer.Clusters.Len() > 0 && !peer.Clusters.Has(c.Name) {
				return fmt.Sprintf("%q of the same affinity group is on %s", peer.Name, list(peer.Clusters))
			}
		}
	case WorkloadAntiAffinity:
		for _, peer := range q.Peers.Apart {
			if peer.Clusters.Has(c.Name) {
				return fmt.Sprintf("%q of the same anti-affinity group is on it", peer.Name)
			}
		}
	}
	return ""
}

// list names the first few clusters.
func list(clusters bindings.Clusters) string {
	return prose.FirstNames(clusters.First(maxNames), clusters.Len())
}

func explainAffinity(a *policyv1alpha1.ClusterAffinity, c *clusterv1alpha1.Cluster) string {
	switch {
	case a == nil:
		return ""
	case slices.Contains(a.ExcludeClusters, c.Name):
		return "exclude names it"
	case len(a.ClusterNames) > 0 && !slices.Contains(a.ClusterNames, c.Name):
		return "clusterNames does not name it"
	}
	if a.LabelSelector != nil && !selector.Cluster(&policyv1alpha1.ClusterAffinity{LabelSelector: a.LabelSelector}, c) {
		return fmt.Sprintf("labelSelector %s, the cluster has %s", metav1.FormatLabelSelector(a.LabelSelector), orNone(labels.Set(c.Labels).String()))
	}
	if a.FieldSelector != nil {
		for _, r := range a.FieldSelector.MatchExpressions {
			one := &policyv1alpha1.FieldSelector{}
			one.MatchExpressions = append(one.MatchExpressions, r)
			if !selector.Cluster(&policyv1alpha1.ClusterAffinity{FieldSelector: one}, c) {
				return fmt.Sprintf("fieldSelector %s %s %s, the cluster has %s", r.Key, r.Operator, strings.Join(r.Values, ","), orNone(field(r.Key, c)))
			}
		}
	}
	return ""
}

func field(key string, c *clusterv1alpha1.Cluster) string {
	switch {
	case key == selector.FieldProvider:
		return c.Spec.Provider
	case key == selector.FieldRegion:
		return c.Spec.Region
	case len(c.Spec.Zones) > 0:
		return strings.Join(c.Spec.Zones, ",")
	default:
		return c.Spec.Zone
	}
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
