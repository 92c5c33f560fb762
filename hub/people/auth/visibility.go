package auth

import (
	"context"

	coordinationv1 "k8s.io/api/coordination/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
)

// ListsClusters is the right to list clusters.
func ListsClusters() Access {
	return Access{Verb: "list", Group: clusterv1alpha1.GroupVersion.Group, Resource: "clusters"}
}

func listsLeases() Access {
	return Access{Verb: "list", Group: coordinationv1.GroupName, Resource: "leases", Namespace: contract.ClusterNamespace}
}

func listsBindings() Access {
	return Access{Group: workv1alpha2.GroupVersion.Group, Resource: "resourcebindings"}
}

func listsClusterBindings() Access {
	return Access{Verb: "list", Group: workv1alpha2.GroupVersion.Group, Resource: "clusterresourcebindings"}
}

func listsPolicies() Access {
	return Access{Group: policyv1alpha1.GroupVersion.Group, Resource: "propagationpolicies"}
}

func listsClusterPolicies() Access {
	return Access{Verb: "list", Group: policyv1alpha1.GroupVersion.Group, Resource: "clusterpropagationpolicies"}
}

// Visibility says which objects a user may see in lists.
type Visibility struct {
	Clusters bool
	// Leases says whether the user may see heartbeats.
	Leases bool
	// Applications and Policies are the scopes of namespaced ones.
	Applications, Policies Scope
	// ClusterApplications and ClusterPolicies say whether the user may see cluster-scoped ones.
	ClusterApplications, ClusterPolicies bool
}

// Visibility asks the API server what the user may list, of objects in these namespaces.
func (u *User) Visibility(ctx context.Context, namespaces []string) (Visibility, error) {
	var v Visibility
	for _, ask := range []struct {
		of  Access
		yes *bool
	}{
		{ListsClusters(), &v.Clusters},
		{listsLeases(), &v.Leases},
		{listsClusterBindings(), &v.ClusterApplications},
		{listsClusterPolicies(), &v.ClusterPolicies},
	} {
		var err error
		if *ask.yes, err = u.May(ctx, ask.of); err != nil {
			return v, err
		}
	}
	var err error
	if v.Applications, err = u.ScopeOf(ctx, listsBindings(), namespaces); err != nil {
		return v, err
	}
	v.Policies, err = u.ScopeOf(ctx, listsPolicies(), namespaces)
	return v, err
}

// AllApplications says that the user may see all applications.
func (v Visibility) AllApplications() bool { return v.Applications.All && v.ClusterApplications }

// AllPolicies says that the user may see all policies.
func (v Visibility) AllPolicies() bool { return v.Policies.All && v.ClusterPolicies }

// Application says whether the user may see the applications of a namespace; the empty name stands for cluster-scoped ones.
func (v Visibility) Application(namespace string) bool {
	if namespace == "" {
		return v.ClusterApplications
	}
	return v.Applications.Has(namespace)
}

// Policy says whether the user may see the policies of a namespace; the empty name stands for cluster-scoped ones.
func (v Visibility) Policy(namespace string) bool {
	if namespace == "" {
		return v.ClusterPolicies
	}
	return v.Policies.Has(namespace)
}
