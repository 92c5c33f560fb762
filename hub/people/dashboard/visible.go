package dashboard

import (
	"context"

	"fairlead.dev/hub/people/auth"
	"fairlead.dev/hub/people/dashboard/index"
	"fairlead.dev/hub/people/view/applications"
)

// visibility asks what a user may see in lists.
func (s *Server) visibility(ctx context.Context, u *auth.User) (auth.Visibility, error) {
	return u.Visibility(ctx, s.index.Namespaces())
}

// clusterDetails says which details of clusters the user may see.
func clusterDetails(visible auth.Visibility) index.ClusterDetails {
	return index.ClusterDetails{Leases: visible.Leases, Works: visible.AllApplications()}
}

// visibleApplications returns those of the applications that may be seen. It may return the
// very slice that it is given.
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

// visiblePolicies returns the policies that may be seen, with what they have of these
// applications.
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
