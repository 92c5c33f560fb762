package dashboard

import (
	"context"

	"fairlead.dev/hub/people/auth"
	"fairlead.dev/hub/people/dashboard/index"
	"fairlead.dev/hub/people/view/applications"
)

// visibility returns what a user may see in lists.
func (s *Server) visibility(ctx context.Context, u *auth.User) (auth.Visibility, error) {
	return u.Visibility(ctx, s.index.Namespaces())
}

// clusterDetails says which details of clusters the user may see.
func clusterDetails(visible auth.Visibility) index.ClusterDetails {
	return index.ClusterDetails{Leases: visible.Leases, Works: visible.AllApplications()}
}

// visibleApplications returns the applications that the user may see. The result may be the given slice itself.
func visibleApplications(visible auth.Visibility, apps []*applications.Application) []*applications.Application {
	if visible.AllApplications() {
		return apps
	}
	out := make([]*applications.Application, 0, len(apps))
	for _, a := range apps {
		if visible.Application(a.Namespace) {
			out = append(out, a)
		}
	}
	return out
}

// visiblePolicies returns the policies that the user may see, with those of the applications that each of them matches.
func (s *Server) visiblePolicies(visible auth.Visibility, apps []*applications.Application) []applications.Policy {
	all := s.index.Policies(apps)
	out := make([]applications.Policy, 0, len(all))
	for _, one := range all {
		if visible.Policy(one.Namespace) {
			out = append(out, one)
		}
	}
	return out
}
