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

// What a report holds of APIs at most, in characters, and how many of them stand around the name of each. The hub takes a little more than that and the quotas. A
// member with three thousand kinds has half as much.
const (
	mostOfAPIs      = 360 << 10
	aroundAPI       = 40
	aroundResource  = 24
	longestResource = 253
)

// Enablements lists the APIs that discovery found, sorted. It also says whether some of
// them could not be asked, or are left out since they are too many, so that the list may be incomplete.
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

// fitting returns the APIs that have room in a report, in their order. Those of Kubernetes itself have it first: without them nothing would
// be sent to the cluster.
func fitting(list []clusterv1alpha1.APIEnablement) []clusterv1alpha1.APIEnablement {
	room, fits := mostOfAPIs, make([]bool, len(list))
	for _, own := range []bool{true, false} {
		for i, e := range list {
			if isOfKubernetes(e.GroupVersion) != own {
				continue
			}
			n := len(e.GroupVersion) + aroundAPI
			for _, r := range e.Resources {
				n += len(r.Name) + len(r.Kind) + aroundResource
			}
			if n <= room {
				room -= n
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

// isOfKubernetes says whether a group is one of Kubernetes itself: it has no domain, or that of the project.
func isOfKubernetes(groupVersion string) bool {
	group, _, _ := strings.Cut(groupVersion, "/")
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
}

// isName says whether an API can have a resource or a kind of that name. A member answers whatever it likes, and the hub would refuse all of a
// report for one that is none.
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
