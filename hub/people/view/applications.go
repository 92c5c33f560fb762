package view

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/hub/people/view/applications"
)

// Scope limits what is read.
type Scope struct {
	// Namespace is the namespace to read; empty for all, and for cluster-scoped objects.
	Namespace string
}

// Applications reads the applications of a scope, sorted by namespace, kind and name.
func (r *Reader) Applications(ctx context.Context, scope Scope) ([]applications.Application, error) {
	known, err := r.heardClusters(ctx)
	if err != nil {
		return nil, err
	}
	var out []applications.Application
	err = listPages(ctx, r.hub, func() *workv1alpha2.ResourceBindingList { return &workv1alpha2.ResourceBindingList{} },
		func(list *workv1alpha2.ResourceBindingList) {
			for i := range list.Items {
				out = append(out, applications.Of(&list.Items[i], known))
			}
		}, client.InNamespace(scope.Namespace))
	if err != nil {
		return nil, fmt.Errorf("listing resourcebindings: %w", err)
	}
	if scope.Namespace == "" {
		err = listPages(ctx, r.hub, func() *workv1alpha2.ClusterResourceBindingList { return &workv1alpha2.ClusterResourceBindingList{} },
			func(list *workv1alpha2.ClusterResourceBindingList) {
				for i := range list.Items {
					out = append(out, applications.Of(&list.Items[i], known))
				}
			})
		if err != nil {
			return nil, fmt.Errorf("listing clusterresourcebindings: %w", err)
		}
	}
	slices.SortFunc(out, applications.Compare)
	return out, nil
}

// heardClusters reads the freshness of clusters; nil if the person may not read Clusters.
func (r *Reader) heardClusters(ctx context.Context) (applications.Clusters, error) {
	var clusters clusterv1alpha1.ClusterList
	err := r.hub.List(ctx, &clusters)
	if apierrors.IsForbidden(err) {
		return nil, nil // the bindings mark stale reports themselves
	}
	if err != nil {
		return nil, fmt.Errorf("listing clusters: %w", err)
	}
	return applications.ClustersOf(clusters.Items), nil
}

// Policies reads the policies of a scope, with those of the applications that each of them matches. For a single
// namespace it omits ClusterPropagationPolicies, since they match elsewhere as well.
func (r *Reader) Policies(ctx context.Context, scope Scope, apps []applications.Application) ([]applications.Policy, error) {
	var all []policyv1alpha1.Policy
	var namespaced policyv1alpha1.PropagationPolicyList
	if err := r.hub.List(ctx, &namespaced, client.InNamespace(scope.Namespace)); err != nil {
		return nil, fmt.Errorf("listing propagationpolicies: %w", err)
	}
	for i := range namespaced.Items {
		all = append(all, &namespaced.Items[i])
	}
	if scope.Namespace == "" {
		var clusterScoped policyv1alpha1.ClusterPropagationPolicyList
		if err := r.hub.List(ctx, &clusterScoped); err != nil {
			return nil, fmt.Errorf("listing clusterpropagationpolicies: %w", err)
		}
		for i := range clusterScoped.Items {
			all = append(all, &clusterScoped.Items[i])
		}
	}
	return applications.Policies(all, apps), nil
}
