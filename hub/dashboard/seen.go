package dashboard

import (
	"context"
	"strconv"

	coordinationv1 "k8s.io/api/coordination/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/dashboard/index"
	"fairlead.dev/hub/view/app"
	"fairlead.dev/hub/view/policy"
)

// What lists are made of, as the API calls it.
func listsClusters() access {
	return access{verb: "list", group: clusterv1alpha1.GroupVersion.Group, resource: "clusters"}
}

func listsLeases() access {
	return access{verb: "list", group: coordinationv1.GroupName, resource: "leases", namespace: contract.ClusterNamespace}
}

func listsBindings() access {
	return access{group: workv1alpha2.GroupVersion.Group, resource: "resourcebindings"}
}

func listsClusterBindings() access {
	return access{verb: "list", group: workv1alpha2.GroupVersion.Group, resource: "clusterresourcebindings"}
}

func listsPolicies() access {
	return access{group: policyv1alpha1.GroupVersion.Group, resource: "propagationpolicies"}
}

func listsClusterPolicies() access {
	return access{verb: "list", group: policyv1alpha1.GroupVersion.Group, resource: "clusterpropagationpolicies"}
}

// sight is what a person may see in lists.
type sight struct {
	clusters bool
	// leases says whether heartbeats may be seen.
	leases bool
	apps   scope
	// ofCluster says whether applications of the cluster scope may be seen.
	ofCluster bool
}

// everything says that nothing is kept from the person.
func (g sight) everything() bool { return g.apps.all && g.ofCluster }

// beside is what the person may see of clusters beside themselves.
func (g sight) beside() index.Beside { return index.Beside{Leases: g.leases, Works: g.everything()} }

func (g sight) sees(namespace string) bool {
	if namespace == "" {
		return g.ofCluster
	}
	return g.apps.has(namespace)
}

// sightOf asks what a person may see.
func (s *Server) sightOf(ctx context.Context, p *person) (sight, error) {
	var g sight
	var err error
	if g.clusters, err = s.may(ctx, p, listsClusters()); err != nil {
		return g, err
	}
	if g.leases, err = s.may(ctx, p, listsLeases()); err != nil {
		return g, err
	}
	if g.ofCluster, err = s.may(ctx, p, listsClusterBindings()); err != nil {
		return g, err
	}
	g.apps, err = s.scopeOf(ctx, p, listsBindings(), namespacesOf(s.index.Applications()))
	return g, err
}

// namespacesOf returns the namespaces of applications, which are sorted by them.
func namespacesOf(apps []*app.Application) []string {
	var out []string
	for _, a := range apps {
		if len(out) == 0 || out[len(out)-1] != a.Namespace {
			out = append(out, a.Namespace)
		}
	}
	return out
}

// seenApplications returns those of the applications that may be seen. It may return the
// very slice that it is given.
func (g sight) seenApplications(apps []*app.Application) []*app.Application {
	if g.everything() {
		return apps
	}
	out := make([]*app.Application, 0, len(apps))
	for _, a := range apps {
		if g.sees(a.Namespace) {
			out = append(out, a)
		}
	}
	return out
}

// seenPolicies returns the policies that a person may see, with what they have of these
// applications.
func (s *Server) seenPolicies(ctx context.Context, p *person, apps []*app.Application) ([]policy.Policy, error) {
	all := s.index.Policies(apps)
	var namespaces []string
	for _, one := range all {
		if len(namespaces) == 0 || namespaces[len(namespaces)-1] != one.Namespace {
			namespaces = append(namespaces, one.Namespace)
		}
	}
	in, err := s.scopeOf(ctx, p, listsPolicies(), namespaces)
	if err != nil {
		return nil, err
	}
	ofCluster, err := s.may(ctx, p, listsClusterPolicies())
	if err != nil {
		return nil, err
	}
	out := make([]policy.Policy, 0, len(all))
	for _, one := range all {
		if one.Namespace == "" && ofCluster || one.Namespace != "" && in.has(one.Namespace) {
			out = append(out, one)
		}
	}
	return out, nil
}

// paging is which part of a list is shown.
type paging struct {
	Page, Pages, Total, From, To int
	// First, Previous, Next and Last are addresses; empty where there is none.
	First, Previous, Next, Last string
	// What is listed, in the singular.
	What string
}

// pageOf returns the part of a list of which the query names the number.
func pageOf[T any](v *visit, key, what string, all []T, size int) ([]T, paging) {
	p := paging{Total: len(all), Pages: max(1, (len(all)+size-1)/size), What: what}
	p.Page = min(v.number(key), p.Pages)
	first := (p.Page - 1) * size
	last := min(first+size, len(all))
	p.From, p.To = first+1, last
	if p.Page > 1 {
		p.First, p.Previous = v.with(key, ""), v.with(key, strconv.Itoa(p.Page-1))
	}
	if p.Page < p.Pages {
		p.Next, p.Last = v.with(key, strconv.Itoa(p.Page+1)), v.with(key, strconv.Itoa(p.Pages))
	}
	return all[first:last], p
}

// choice is one of several that a person can pick from.
type choice struct {
	Value, Text string
	Chosen      bool
	Count       int
	To          string
}
