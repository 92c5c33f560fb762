package facts

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

// Enablements lists the APIs that discovery found, sorted. It also says whether some of
// them could not be asked, so that the list may be incomplete.
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
				e.Resources = append(e.Resources, clusterv1alpha1.APIResource{Name: r.Resource, Kind: r.ResponseKind.Kind})
			}
			slices.SortFunc(e.Resources, func(a, b clusterv1alpha1.APIResource) int { return cmp.Compare(a.Name, b.Name) })
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b clusterv1alpha1.APIEnablement) int { return cmp.Compare(a.GroupVersion, b.GroupVersion) })
	return list, partial
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
