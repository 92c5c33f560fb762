package facts

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

// Bounds on the APIs in a report, in characters; around… is the JSON around each name. The hub accepts a little more
// than this and the quotas together. A member with three thousand kinds needs half of it.
const (
	mostOfAPIs      = 360 << 10
	aroundAPI       = 40
	aroundResource  = 24
	longestResource = 253
	// longestList is how many APIs, and how many kinds of each, the schema of a Cluster takes.
	longestList = 4096
)

// Enablements lists the APIs that discovery found, sorted. partial says that the list may be incomplete, because some
// could not be discovered or there are too many.
func Enablements(groups ...apidiscoveryv2.APIGroupDiscovery) (list []clusterv1alpha1.APIEnablement, partial bool) {
	for _, group := range groups {
		for _, version := range group.Versions {
			partial = partial || version.Freshness == apidiscoveryv2.DiscoveryFreshnessStale
			e := clusterv1alpha1.APIEnablement{
				GroupVersion: schema.GroupVersion{Group: group.Name, Version: version.Version}.String(),
			}
			for _, r := range version.Resources {
				if r.ResponseKind == nil || strings.Contains(r.Resource, "/") {
					continue
				}
				if !isName(r.Resource) || !isName(r.ResponseKind.Kind) {
					partial = true
					continue
				}
				e.Resources = append(e.Resources, clusterv1alpha1.APIResource{Name: r.Resource, Kind: r.ResponseKind.Kind})
			}
			slices.SortFunc(e.Resources, func(a, b clusterv1alpha1.APIResource) int { return cmp.Compare(a.Name, b.Name) })
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b clusterv1alpha1.APIEnablement) int { return cmp.Compare(a.GroupVersion, b.GroupVersion) })
	whole := len(list)
	list = fitting(list)
	return list, partial || len(list) < whole
}

// fitting returns the APIs that fit into a report, in their order. Those of Kubernetes itself take precedence, since
// without them nothing would be scheduled to the cluster.
func fitting(list []clusterv1alpha1.APIEnablement) []clusterv1alpha1.APIEnablement {
	room, left, fits := mostOfAPIs, longestList, make([]bool, len(list))
	for _, own := range []bool{true, false} {
		for i, e := range list {
			if isOfKubernetes(e.GroupVersion) != own {
				continue
			}
			n := len(e.GroupVersion) + aroundAPI
			for _, r := range e.Resources {
				n += len(r.Name) + len(r.Kind) + aroundResource
			}
			if n <= room && left > 0 && len(e.Resources) <= longestList {
				room -= n
				left--
				fits[i] = true
			}
		}
	}
	out := make([]clusterv1alpha1.APIEnablement, 0, len(list))
	for i, e := range list {
		if fits[i] {
			out = append(out, e)
		}
	}
	return out
}

// isOfKubernetes returns whether a group belongs to Kubernetes itself: it has no domain, or that of the project.
func isOfKubernetes(groupVersion string) bool {
	group, _, _ := strings.Cut(groupVersion, "/")
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
}

// isName returns whether a string can be the name of a resource or kind. A member can answer anything, and the hub
// would refuse the whole report because of one invalid name.
func isName(s string) bool {
	return len(s) <= longestResource && !strings.ContainsFunc(s, func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-._", r)
	})
}

// Complete returns the condition that says whether all APIs are listed.
func Complete(list []clusterv1alpha1.APIEnablement, partial bool) metav1.Condition {
	c := metav1.Condition{Type: clusterv1alpha1.ClusterCompleteAPIEnablements}
	switch {
	case len(list) == 0:
		c.Status, c.Reason = metav1.ConditionFalse, clusterv1alpha1.ReasonAPIEnablementsEmpty
		c.Message = "collected empty APIEnablements from the cluster"
	case partial:
		c.Status, c.Reason = metav1.ConditionFalse, clusterv1alpha1.ReasonAPIEnablementsPartial
		c.Message = fmt.Sprintf("might collect partial APIEnablements(%d) from the cluster", len(list))
	default:
		c.Status, c.Reason = metav1.ConditionTrue, clusterv1alpha1.ReasonAPIEnablementsComplete
		c.Message = "collected complete APIEnablements from the cluster"
	}
	return c
}
