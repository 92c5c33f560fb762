package dashboard

import (
	"context"
	"slices"
	"strings"

	"fairlead.dev/hub/people/auth"
	"fairlead.dev/hub/people/view/applications"
	"fairlead.dev/hub/people/view/clusters"
)

// overviewAttention is the list of problems on the overview, the worst first.
type overviewAttention struct {
	Applications []*applications.Application
	MoreApps     int
	Reasons      []reason
	Clusters     []clusters.Cluster
	MoreClusters int
	// Idle are policies that match nothing.
	Idle     []applications.PolicyKey
	MoreIdle int
	// Well says that there are no problems. Hidden are the parts that the person may not see, about which that says
	// nothing.
	Well   bool
	Hidden []string
	// Nothing says that the hub is still empty.
	Nothing bool
	// MayJoin says that the person may invite clusters.
	MayJoin bool
}

// reason is a problem that several applications share.
type reason struct {
	Text     string
	State    applications.State
	Count    int
	Clusters int
	Example  *applications.Application
}

// attention collects the problems that an operator should look at.
func (s *Server) attention(ctx context.Context, v *visit, visible auth.Visibility, apps []*applications.Application, fleet []clusters.Cluster) (overviewAttention, error) {
	var t overviewAttention
	var bad []*applications.Application
	for _, a := range apps {
		switch a.State {
		case applications.Failing, applications.Unscheduled, applications.Unhealthy, applications.Stale:
			bad = append(bad, a)
		default:
		}
	}
	slices.SortStableFunc(bad, func(a, b *applications.Application) int { return applications.CompareBySeverity(*a, *b) })
	t.Applications, t.MoreApps = firstRows(bad)
	t.Reasons = reasons(bad)
	var ill []clusters.Cluster
	for i := range fleet {
		if c := fleet[i]; c.State != clusters.Ready && c.State != clusters.Cordoned || len(c.Remarks) > 0 {
			ill = append(ill, c)
		}
	}
	slices.SortStableFunc(ill, clusters.CompareBySeverity)
	t.Clusters, t.MoreClusters = firstRows(ill)
	policies := s.visiblePolicies(visible, apps)
	var idle []applications.PolicyKey
	for _, p := range policies {
		if p.Has == 0 {
			idle = append(idle, p.PolicyKey)
		}
	}
	t.Idle, t.MoreIdle = firstRows(idle)
	t.Hidden = s.hiddenParts(visible)
	t.Nothing = len(apps)+len(fleet)+len(policies)+len(t.Hidden) == 0
	t.Well = len(bad)+len(ill)+len(idle) == 0
	var err error
	t.MayJoin, err = v.user.May(ctx, makesTokens())
	return t, err
}

// hiddenParts returns what the overview does not show to this person.
func (s *Server) hiddenParts(visible auth.Visibility) []string {
	var out []string
	if !visible.Clusters {
		out = append(out, "clusters")
	}
	if !visible.Leases {
		out = append(out, "heartbeats of agents")
	}
	if !visible.AllApplications() || s.Namespace != "" {
		out = append(out, "applications of every namespace")
	}
	if !visible.AllPolicies() || s.Namespace != "" {
		out = append(out, "policies of every namespace")
	}
	return out
}

func firstRows[T any](all []T) ([]T, int) {
	if len(all) <= overviewRows {
		return all, 0
	}
	return all[:overviewRows], len(all) - overviewRows
}

// reasons sums up the problems of applications, the most frequent first. Those that differ only in the names of the
// cluster and the application count as one.
func reasons(bad []*applications.Application) []reason {
	type key struct {
		text  string
		state applications.State
	}
	at := map[key]*reason{}
	for _, a := range bad {
		told := map[key]bool{}
		for i := range a.Places {
			p := &a.Places[i]
			if p.State != applications.Failing && p.State != applications.Unhealthy && p.State != applications.Stale {
				continue
			}
			k := key{withoutNames(p, a), p.State}
			r := at[k]
			if r == nil {
				r = &reason{Text: k.text, State: p.State, Example: a}
				at[k] = r
			}
			r.Clusters++
			if !told[k] {
				told[k] = true
				r.Count++
			}
		}
		if a.State == applications.Unscheduled {
			k := key{strings.ReplaceAll(a.Why, a.Name, "…"), a.State}
			if at[k] == nil {
				at[k] = &reason{Text: k.text, State: a.State, Example: a}
			}
			at[k].Count++
		}
	}
	out := make([]reason, 0, len(at))
	for _, r := range at {
		out = append(out, *r)
	}
	order := applications.States()
	slices.SortFunc(out, func(a, b reason) int {
		if a.Count != b.Count {
			return b.Count - a.Count
		}
		if a.State != b.State {
			return slices.Index(order, a.State) - slices.Index(order, b.State)
		}
		return strings.Compare(a.Text, b.Text)
	})
	return out[:min(len(out), overviewRows)]
}

// withoutNames returns the problem of an application in a cluster, without their names.
func withoutNames(p *applications.Place, a *applications.Application) string {
	if p.State == applications.Stale {
		return "Cluster " + p.Cluster + " is not heard from."
	}
	text := p.Why
	if len(a.Name) > 3 { //nolint:mnd // shorter names may be parts of words
		text = strings.ReplaceAll(text, a.Name, "…")
	}
	return strings.ReplaceAll(text, p.Cluster, "…")
}
