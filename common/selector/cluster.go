package selector

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
)

// Fields of a Cluster that a field selector may use.
const (
	FieldProvider = "provider"
	FieldRegion   = "region"
	FieldZone     = "zone"
)

// largeList is the length from which a set is faster than a linear search.
const largeList = 16

// ClusterMatcher is a compiled ClusterAffinity, for matching many clusters. The zero value matches every cluster. It
// is safe for concurrent use as long as the affinity that it was compiled from is not changed.
type ClusterMatcher struct {
	exclude names
	include names
	labels  labels.Selector
	fields  []corev1.NodeSelectorRequirement
}

// CompileCluster compiles an affinity. A nil affinity matches every cluster. The error names the invalid part.
func CompileCluster(affinity *policyv1alpha1.ClusterAffinity) (ClusterMatcher, error) {
	if affinity == nil {
		return ClusterMatcher{}, nil
	}
	m := ClusterMatcher{exclude: newNames(affinity.ExcludeClusters), include: newNames(affinity.ClusterNames)}
	if affinity.LabelSelector != nil {
		parsed, err := metav1.LabelSelectorAsSelector(affinity.LabelSelector)
		if err != nil {
			return ClusterMatcher{}, fmt.Errorf("reading labelSelector: %w", err)
		}
		if !parsed.Empty() {
			m.labels = parsed
		}
	}
	if affinity.FieldSelector != nil {
		m.fields = affinity.FieldSelector.MatchExpressions
		for i := range m.fields {
			if err := validateField(&m.fields[i]); err != nil {
				return ClusterMatcher{}, fmt.Errorf("reading fieldSelector.matchExpressions[%d]: %w", i, err)
			}
		}
	}
	return m, nil
}

// Cluster returns whether an affinity selects a cluster. A nil affinity selects every cluster; an invalid one none.
// Use CompileCluster for many clusters.
func Cluster(affinity *policyv1alpha1.ClusterAffinity, c *clusterv1alpha1.Cluster) bool {
	m, err := CompileCluster(affinity)
	return err == nil && m.Matches(c)
}

// Matches returns whether the affinity selects a cluster.
func (m ClusterMatcher) Matches(c *clusterv1alpha1.Cluster) bool {
	if m.exclude.has(c.Name) {
		return false
	}
	if len(m.include.list) > 0 && !m.include.has(c.Name) {
		return false
	}
	if m.labels != nil && !m.labels.Matches(labels.Set(c.Labels)) {
		return false
	}
	for i := range m.fields {
		if !matchField(&m.fields[i], c) {
			return false
		}
	}
	return true
}

func validateField(r *corev1.NodeSelectorRequirement) error {
	switch r.Key {
	case FieldProvider, FieldRegion, FieldZone:
	default:
		return fmt.Errorf("key %q is not one of provider, region and zone", r.Key)
	}
	switch r.Operator {
	case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
		return nil
	default:
		return fmt.Errorf("operator %q is neither In nor NotIn", r.Operator)
	}
}

func matchField(r *corev1.NodeSelectorRequirement, c *clusterv1alpha1.Cluster) bool {
	var listed bool
	switch r.Key {
	case FieldProvider:
		listed = slices.Contains(r.Values, c.Spec.Provider)
	case FieldRegion:
		listed = slices.Contains(r.Values, c.Spec.Region)
	default:
		listed = slices.Contains(r.Values, c.Spec.Zone) && c.Spec.Zone != "" && len(c.Spec.Zones) == 0
		for _, zone := range c.Spec.Zones {
			listed = listed || slices.Contains(r.Values, zone)
		}
	}
	return listed == (r.Operator == corev1.NodeSelectorOpIn)
}

// names is a list of cluster names, with a set if it is long.
type names struct {
	list []string
	set  sets.Set[string]
}

func newNames(list []string) names {
	if len(list) < largeList {
		return names{list: list}
	}
	return names{list: list, set: sets.New(list...)}
}

func (n names) has(name string) bool {
	if n.set != nil {
		return n.set.Has(name)
	}
	return slices.Contains(n.list, name)
}
