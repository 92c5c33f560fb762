package dashboard

import (
	"context"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"fairlead.dev/hub/people/auth"
	"fairlead.dev/hub/people/dashboard/chart"
	"fairlead.dev/hub/people/dashboard/index"
	"fairlead.dev/hub/people/live"
	"fairlead.dev/hub/people/view/applications"
	"fairlead.dev/hub/people/view/clusters"
)

// historySpan is how far back plots go.
const historySpan = chart.Every * chart.Length

// How many rows the lists of the overview have.
const (
	overviewRows    = 8
	overviewChanges = 12
)

// tile is a number at the top of the overview.
type tile struct {
	Title      string
	Good, All  int
	Says       string
	To         string
	Shares     template.HTML
	Plot       template.HTML
	PlotSays   string
	Breakdown  []stateCount
	NotAllowed string
}

// stateCount is how many are in a state.
type stateCount struct {
	State string
	Count int
	To    string
}

// overviewTrouble is what is wrong, the worst first.
type overviewTrouble struct {
	Applications []*applications.Application
	MoreApps     int
	Reasons      []reason
	Clusters     []clusters.Cluster
	MoreClusters int
	// Idle are policies that have nothing.
	Idle     []applications.PolicyKey
	MoreIdle int
	// Well says that nothing of that is there. Hidden is what is not seen, of which nobody
	// can say that it is well.
	Well   bool
	Hidden []string
	// Nothing says that there is nothing on the hub yet.
	Nothing bool
	// MayJoin says that the person may let clusters join.
	MayJoin bool
}

// reason is why several applications are in trouble.
type reason struct {
	Text     string
	State    applications.State
	Count    int
	Clusters int
	Example  *applications.Application
}

func (s *Server) overview(ctx context.Context, v *visit) (*page, error) {
	visible, err := s.visibility(ctx, v.user)
	if err != nil {
		return nil, err
	}
	apps := seenApplications(visible, s.index.Applications())
	var fleet []clusters.Cluster
	if visible.Clusters {
		fleet = s.index.Clusters(v.now, beside(visible))
	}
	trouble, err := s.trouble(ctx, v, visible, apps, fleet)
	if err != nil {
		return nil, err
	}
	changes := s.index.Changes(overviewChanges, func(c index.Change) bool {
		if c.Cluster != "" {
			return visible.Clusters
		}
		return visible.Application(c.Template.Namespace)
	})
	tiles := []tile{s.clusterTile(visible, fleet, v.now), s.applicationTile(visible, apps, v.now), deliveryTile(apps)}
	return &page{
		title: "Overview", nav: "overview", heading: heading{Title: "Overview"},
		fragments: []fragment{
			{id: "tiles", template: "overview-tiles", data: tiles},
			{id: "trouble", template: "overview-trouble", data: trouble},
			{id: "changes", template: "overview-changes", data: changes},
		},
		follows: func(t live.Topic) bool { return t.Kind != live.Lease },
		every:   chart.Every,
	}, nil
}

func (s *Server) clusterTile(visible auth.Visibility, fleet []clusters.Cluster, now time.Time) tile {
	t := tile{Title: "Clusters", To: "/clusters", All: len(fleet)}
	if !visible.Clusters {
		t.NotAllowed = "You may not list clusters."
		return t
	}
	of := map[clusters.State]int{}
	for i := range fleet {
		of[fleet[i].State]++
	}
	t.Good = of[clusters.Ready] + of[clusters.Cordoned]
	t.Says = "ready"
	var shares []chart.Share
	for _, state := range slices.Backward(clusters.States()) {
		shares = append(shares, chart.Share{Class: tone(state), Count: of[state]})
		if of[state] > 0 {
			t.Breakdown = append(t.Breakdown, stateCount{string(state), of[state], "/clusters?state=" + string(state)})
		}
	}
	t.Shares = template.HTML(chart.Shares(fmt.Sprintf("%d of %d clusters are ready", t.Good, t.All), shares)) //nolint:gosec // plot escapes.
	t.Plot = s.fleetPlot("Clusters that were ready in the last hour", now, float64(len(fleet)),
		chart.Line{Class: "all", Samples: s.history.Samples(seriesClusters)}, chart.Line{Class: "ok", Samples: s.history.Samples(seriesReady)})
	t.PlotSays = "ready, last hour"
	return t
}

func (s *Server) applicationTile(visible auth.Visibility, apps []*applications.Application, now time.Time) tile {
	t := tile{Title: "Applications", To: "/applications", All: len(apps), Says: "healthy"}
	if visible.Applications.None() && !visible.ClusterApplications && len(apps) == 0 {
		t.NotAllowed = "You see the applications of namespaces in which you may list resourcebindings.work.karmada.io."
	}
	of := statesOf(apps)
	t.Good = of[applications.Healthy]
	var shares []chart.Share
	for _, state := range slices.Backward(applications.States()) {
		shares = append(shares, chart.Share{Class: tone(state), Count: of[state]})
		if of[state] > 0 {
			t.Breakdown = append(t.Breakdown, stateCount{string(state), of[state], "/applications?state=" + string(state)})
		}
	}
	t.Shares = template.HTML(chart.Shares(fmt.Sprintf("%d of %d applications are healthy", t.Good, t.All), shares)) //nolint:gosec // plot escapes.
	if visible.AllApplications() {                                                                                  // the series count all
		t.Plot = s.fleetPlot("Applications that were not healthy in the last hour", now, 1, chart.Line{Class: "bad", Samples: s.history.Samples(seriesTroubled)})
		t.PlotSays = "not healthy, last hour"
	}
	return t
}

// deliveryTile counts what was sent where.
func deliveryTile(apps []*applications.Application) tile {
	t := tile{Title: "Deliveries", To: "/applications", Says: "applied"}
	var failing, stale int
	for _, a := range apps {
		t.All += a.Wanted
		t.Good += a.Applied
		failing += a.Failing
		stale += a.Stale
	}
	waiting := max(0, t.All-t.Good-failing)
	t.Shares = template.HTML(chart.Shares(fmt.Sprintf("%d of %d copies are applied", t.Good, t.All), []chart.Share{ //nolint:gosec // plot escapes.
		{Class: "ok", Count: t.Good}, {Class: "busy", Count: waiting}, {Class: "bad", Count: failing},
	}))
	for _, c := range []stateCount{{refusedCount, failing, "/applications?state=Failing"}, {"Waiting", waiting, "/applications?state=Waiting"}, {"Stale", stale, "/applications?state=Stale"}} {
		if c.Count > 0 {
			t.Breakdown = append(t.Breakdown, c)
		}
	}
	return t
}

func (s *Server) fleetPlot(title string, now time.Time, top float64, lines ...chart.Line) template.HTML {
	return template.HTML(chart.SVG(chart.Options{Title: title, Top: top, Span: historySpan, Now: now}, lines...)) //nolint:gosec // plot escapes.
}

func statesOf(apps []*applications.Application) map[applications.State]int {
	of := map[applications.State]int{}
	for _, a := range apps {
		of[a.State]++
	}
	return of
}

// trouble gathers what an operator should look at.
func (s *Server) trouble(ctx context.Context, v *visit, visible auth.Visibility, apps []*applications.Application, fleet []clusters.Cluster) (overviewTrouble, error) {
	var t overviewTrouble
	var bad []*applications.Application
	for _, a := range apps {
		switch a.State {
		case applications.Failing, applications.Unscheduled, applications.Unhealthy, applications.Stale:
			bad = append(bad, a)
		default:
		}
	}
	slices.SortStableFunc(bad, func(a, b *applications.Application) int { return applications.Worse(*a, *b) })
	t.Applications, t.MoreApps = head(bad)
	t.Reasons = reasons(bad)
	var ill []clusters.Cluster
	for i := range fleet {
		if c := fleet[i]; c.State != clusters.Ready && c.State != clusters.Cordoned || len(c.Remarks) > 0 {
			ill = append(ill, c)
		}
	}
	slices.SortStableFunc(ill, clusters.Worse)
	t.Clusters, t.MoreClusters = head(ill)
	policies := s.seenPolicies(visible, apps)
	var idle []applications.PolicyKey
	for _, p := range policies {
		if p.Has == 0 {
			idle = append(idle, p.PolicyKey)
		}
	}
	t.Idle, t.MoreIdle = head(idle)
	t.Hidden = s.hidden(visible)
	t.Nothing = len(apps)+len(fleet)+len(policies)+len(t.Hidden) == 0
	t.Well = len(bad)+len(ill)+len(idle) == 0
	var err error
	t.MayJoin, err = v.user.May(ctx, makesTokens())
	return t, err
}

// hidden says what the overview does not show.
func (s *Server) hidden(visible auth.Visibility) []string {
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

func head[T any](all []T) ([]T, int) {
	if len(all) <= overviewRows {
		return all, 0
	}
	return all[:overviewRows], len(all) - overviewRows
}

// reasons sums up why applications are in trouble, the most frequent first. What differs
// only in the names of the cluster and the application is one reason.
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
			k := key{general(p, a), p.State}
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

// general returns why an application is in trouble in a cluster, without their names.
func general(p *applications.Place, a *applications.Application) string {
	if p.State == applications.Stale {
		return "Cluster " + p.Cluster + " is not heard from."
	}
	text := p.Why
	if len(a.Name) > 3 { //nolint:mnd // shorter ones are parts of words
		text = strings.ReplaceAll(text, a.Name, "…")
	}
	return strings.ReplaceAll(text, p.Cluster, "…")
}
