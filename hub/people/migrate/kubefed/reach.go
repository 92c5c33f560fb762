package kubefed

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
)

// reach is the set of clusters that a placement selects: those with one of the names, if there are any, that match the
// selector, if there is one. The zero value selects all.
type reach struct {
	nowhere  bool
	names    []string
	exclude  []string
	selector *metav1.LabelSelector
}

// reachOf converts a placement: names take precedence over a selector; an empty list of names selects no cluster, and
// so does a placement with neither.
func reachOf(p placement) reach {
	switch {
	case p.Clusters != nil:
		names := make([]string, 0, len(*p.Clusters))
		for _, c := range *p.Clusters {
			names = append(names, c.Name)
		}
		slices.Sort(names)
		names = slices.Compact(names)
		return reach{nowhere: len(names) == 0, names: names}
	case p.ClusterSelector != nil:
		r := reach{selector: p.ClusterSelector.DeepCopy()}
		if len(r.selector.MatchLabels)+len(r.selector.MatchExpressions) == 0 {
			r.selector = nil
		}
		return r
	default:
		return reach{nowhere: true}
	}
}

// and returns the intersection.
func (r reach) and(o reach) reach {
	out := reach{nowhere: r.nowhere || o.nowhere, names: r.names, exclude: slices.Concat(r.exclude, o.exclude), selector: merged(r.selector, o.selector)}
	switch {
	case out.nowhere:
		return reach{nowhere: true}
	case len(r.names) == 0:
		out.names = o.names
	case len(o.names) > 0:
		out.names = slices.DeleteFunc(slices.Clone(r.names), func(name string) bool { return !slices.Contains(o.names, name) })
		out.nowhere = len(out.names) == 0
	}
	return out
}

// merged returns a selector that matches what both match. A label with two different values becomes two expressions
// that no cluster meets.
func merged(a, b *metav1.LabelSelector) *metav1.LabelSelector {
	if a == nil || b == nil {
		if a == nil {
			a = b
		}
		return a.DeepCopy()
	}
	out := a.DeepCopy()
	for _, key := range slices.Sorted(maps.Keys(b.MatchLabels)) {
		value := b.MatchLabels[key]
		switch had, has := out.MatchLabels[key]; {
		case !has:
			if out.MatchLabels == nil {
				out.MatchLabels = map[string]string{}
			}
			out.MatchLabels[key] = value
		case had != value:
			out.MatchExpressions = append(out.MatchExpressions, metav1.LabelSelectorRequirement{
				Key: key, Operator: metav1.LabelSelectorOpIn, Values: []string{value},
			})
		}
	}
	out.MatchExpressions = append(out.MatchExpressions, b.DeepCopy().MatchExpressions...)
	return out
}

// matches says whether a cluster is picked. The selector was read before.
func (r reach) matches(name string, clusterLabels map[string]string) bool {
	if r.nowhere || len(r.names) > 0 && !slices.Contains(r.names, name) || slices.Contains(r.exclude, name) {
		return false
	}
	if r.selector == nil {
		return true
	}
	parsed, err := metav1.LabelSelectorAsSelector(r.selector)
	return err == nil && parsed.Matches(labels.Set(clusterLabels))
}

// affinity returns the affinity for a policy; nil selects all.
func (r reach) affinity() *policyv1alpha1.ClusterAffinity {
	if len(r.names) == 0 && len(r.exclude) == 0 && r.selector == nil {
		return nil
	}
	return &policyv1alpha1.ClusterAffinity{ClusterNames: r.names, ExcludeClusters: r.exclude, LabelSelector: r.selector}
}
