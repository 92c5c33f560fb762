package show

import (
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/common/contract"
)

// The verbs of each resource. The resource clusters itself is not served: `kubectl get clusters` must mean the Clusters
// of cluster.karmada.io.
func lineVerbs() []string   { return []string{"get", "list"} }
func attachVerbs() []string { return []string{"create"} }
func proxyVerbs() []string  { return []string{"create", "delete", "get", "patch", "update"} }

func version() metav1.GroupVersionForDiscovery {
	return metav1.GroupVersionForDiscovery{GroupVersion: contract.ConnectGroup + "/" + contract.ConnectVersion, Version: contract.ConnectVersion}
}

// Group returns the group for its own discovery path.
func Group() metav1.APIGroup {
	return metav1.APIGroup{
		TypeMeta: metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}, Name: contract.ConnectGroup,
		Versions: []metav1.GroupVersionForDiscovery{version()}, PreferredVersion: version(),
	}
}

// Groups returns all groups of this API.
func Groups() metav1.APIGroupList {
	group := Group()
	group.TypeMeta = metav1.TypeMeta{}
	return metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []metav1.APIGroup{group}}
}

// Resources returns the resources of the version.
func Resources() metav1.APIResourceList {
	return metav1.APIResourceList{
		TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: version().GroupVersion,
		APIResources: []metav1.APIResource{
			{Name: contract.LinesResource, SingularName: "line", Kind: KindLine, Verbs: lineVerbs()},
			{Name: contract.LinesResource + "/" + contract.AttachSubresource, Kind: KindLine, Verbs: attachVerbs()},
			{Name: contract.ConnectClustersResource + "/" + contract.ProxySubresource, Kind: "ClusterProxy", Verbs: proxyVerbs()},
		},
	}
}

// Aggregated returns the groups, versions and resources for aggregated discovery.
func Aggregated() apidiscoveryv2.APIGroupDiscoveryList {
	kind := func(name string) *metav1.GroupVersionKind {
		return &metav1.GroupVersionKind{Group: contract.ConnectGroup, Version: contract.ConnectVersion, Kind: name}
	}
	return apidiscoveryv2.APIGroupDiscoveryList{
		TypeMeta: metav1.TypeMeta{Kind: "APIGroupDiscoveryList", APIVersion: "apidiscovery.k8s.io/v2"},
		Items: []apidiscoveryv2.APIGroupDiscovery{{
			ObjectMeta: metav1.ObjectMeta{Name: contract.ConnectGroup},
			Versions: []apidiscoveryv2.APIVersionDiscovery{{
				Version: contract.ConnectVersion, Freshness: apidiscoveryv2.DiscoveryFreshnessCurrent,
				Resources: []apidiscoveryv2.APIResourceDiscovery{
					{
						// Without a response kind, only the subresource exists.
						Resource: contract.ConnectClustersResource, Scope: apidiscoveryv2.ScopeCluster, SingularResource: "cluster", Verbs: []string{},
						Subresources: []apidiscoveryv2.APISubresourceDiscovery{
							{Subresource: contract.ProxySubresource, ResponseKind: kind("ClusterProxy"), Verbs: proxyVerbs()},
						},
					},
					{
						Resource: contract.LinesResource, ResponseKind: kind(KindLine), Scope: apidiscoveryv2.ScopeCluster, SingularResource: "line", Verbs: lineVerbs(),
						Subresources: []apidiscoveryv2.APISubresourceDiscovery{
							{Subresource: contract.AttachSubresource, ResponseKind: kind(KindLine), Verbs: attachVerbs()},
						},
					},
				},
			}},
		}},
	}
}
