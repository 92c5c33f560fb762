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

// Scope says where to look.
type Scope struct {
	// Namespace limits what is read to one; empty is every namespace, and what is in none.
	Namespace string
}

// Applications reads all of a scope, by namespace, kind and name.
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

// heardClusters reads which clusters are heard from; it returns nil if the person may not read that.
func (r *Reader) heardClusters(ctx context.Context) (applications.Clusters, error) {
	var clusters clusterv1alpha1.ClusterList
	err := r.hub.List(ctx, &clusters)
	if apierrors.IsForbidden(err) {
		return nil, nil // their bindings say it
	}
	if err != nil {
		return nil, fmt.Errorf("listing clusters: %w", err)
	}
	return applications.ClustersOf(clusters.Items), nil
}

// Policies reads those of a scope and says what they have of the applications. In a
// namespace the ClusterPropagationPolicies are left out: what they have is elsewhere too.
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
