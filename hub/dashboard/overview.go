package dashboard

import (
	"context"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"fairlead.dev/hub/dashboard/history"
	"fairlead.dev/hub/dashboard/index"
	"fairlead.dev/hub/dashboard/plot"
	"fairlead.dev/hub/view/app"
	"fairlead.dev/hub/view/fleet"
)

// historySpan is how far back plots go.
const historySpan = history.Every * history.Length

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
	Applications []*app.Application
	MoreApps     int
	Reasons      []reason
	Clusters     []fleet.Cluster
	MoreClusters int
	// Idle are policies that have nothing.
	Idle     []app.Policy
	MoreIdle int
	AllWell  bool
	// Nothing says that there is nothing on the hub yet.
	Nothing bool
	// MayJoin says that the person may let clusters join.
	MayJoin bool
}

// reason is why several applications are in trouble.
type reason struct {
	Text     string
	State    app.State
	Count    int
	Clusters int
	Example  *app.Application
}

func (s *Server) overview(ctx context.Context, v *visit) (*page, error) {
	sees, err := s.sightOf(ctx, v.person)
	if err != nil {
		return nil, err
	}
	apps := sees.seenApplications(s.index.Applications())
	var clusters []fleet.Cluster
	if sees.clusters {
		clusters = s.index.Clusters(v.now, sees.beside())
	}
	trouble, err := s.trouble(ctx, v, apps, clusters)
	if err != nil {
		return nil, err
	}
	changes := s.index.Changes(overviewChanges, func(c index.Change) bool {
		if c.Cluster != "" {
			return sees.clusters
		}
		return sees.sees(c.Template.Namespace)
	})
	tiles := []tile{s.clusterTile(sees, clusters, v.now), s.applicationTile(sees, apps, v.now), deliveryTile(apps)}
	return &page{
		title: "Overview", nav: "overview", heading: heading{Title: "Overview"},
		fragments: []fragment{
			{id: "tiles", template: "overview-tiles", data: tiles},
			{id: "trouble", template: "overview-trouble", data: trouble},
			{id: "changes", template: "overview-changes", data: changes},
		},
		follows: func(t topic) bool { return t.kind != topicLease },
		every:   history.Every,
	}, nil
}

func (s *Server) clusterTile(sees sight, clusters []fleet.Cluster, now time.Time) tile {
	t := tile{Title: "Clusters", To: "/clusters", All: len(clusters)}
	if !sees.clusters {
		t.NotAllowed = "You may not list clusters."
		return t
	}
	of := map[fleet.State]int{}
	for i := range clusters {
		of[clusters[i].State]++
	}
	t.Good = of[fleet.Ready] + of[fleet.Cordoned]
	t.Says = "ready"
	var shares []plot.Share
	for _, state := range slices.Backward(fleet.States()) {
		shares = append(shares, plot.Share{Class: tone(state), Count: of[state]})
		if of[state] > 0 {
			t.Breakdown = append(t.Breakdown, stateCount{string(state), of[state], "/clusters?state=" + string(state)})
		}
	}
	t.Shares = template.HTML(plot.Shares(fmt.Sprintf("%d of %d clusters are ready", t.Good, t.All), shares)) //nolint:gosec // plot escapes.
	t.Plot = s.fleetPlot("Clusters that were ready in the last hour", now, float64(len(clusters)),
		plot.Line{Class: "all", Samples: s.history.Samples(seriesClusters)}, plot.Line{Class: "ok", Samples: s.history.Samples(seriesReady)})
	t.PlotSays = "ready, last hour"
	return t
}

func (s *Server) applicationTile(sees sight, apps []*app.Application, now time.Time) tile {
	t := tile{Title: "Applications", To: "/applications", All: len(apps), Says: "healthy"}
	if sees.apps.none() && !sees.ofCluster && len(apps) == 0 {
		t.NotAllowed = "You see the applications of namespaces in which you may list resourcebindings.work.karmada.io."
	}
	of := statesOf(apps)
	t.Good = of[app.Healthy]
	var shares []plot.Share
	for _, state := range slices.Backward(app.States()) {
		shares = append(shares, plot.Share{Class: tone(state), Count: of[state]})
		if of[state] > 0 {
			t.Breakdown = append(t.Breakdown, stateCount{string(state), of[state], "/applications?state=" + string(state)})
		}
	}
	t.Shares = template.HTML(plot.Shares(fmt.Sprintf("%d of %d applications are healthy", t.Good, t.All), shares)) //nolint:gosec // plot escapes.
	if sees.everything() {                                                                                         // the series count all
		t.Plot = s.fleetPlot("Applications that were not healthy in the last hour", now, 1, plot.Line{Class: "bad", Samples: s.history.Samples(seriesTroubled)})
		t.PlotSays = "not healthy, last hour"
	}
	return t
}

// deliveryTile counts what was sent where.
func deliveryTile(apps []*app.Application) tile {
	t := tile{Title: "Deliveries", To: "/applications", Says: "applied"}
	var failing, stale int
	for _, a := range apps {
		t.All += a.Wanted
		t.Good += a.Applied
		failing += a.Failing
		stale += a.Stale
	}
	waiting := max(0, t.All-t.Good-failing)
	t.Shares = template.HTML(plot.Shares(fmt.Sprintf("%d of %d copies are applied", t.Good, t.All), []plot.Share{ //nolint:gosec // plot escapes.
		{Class: "ok", Count: t.Good}, {Class: "busy", Count: waiting}, {Class: "bad", Count: failing},
	}))
	for _, c := range []stateCount{{refusedCount, failing, "/applications?state=Failing"}, {"Waiting", waiting, "/applications?state=Waiting"}, {"Stale", stale, "/applications?state=Stale"}} {
		if c.Count > 0 {
			t.Breakdown = append(t.Breakdown, c)
		}
	}
	return t
}

func (s *Server) fleetPlot(title string, now time.Time, top float64, lines ...plot.Line) template.HTML {
	return template.HTML(plot.SVG(plot.Options{Title: title, Top: top, Span: historySpan, Now: now}, lines...)) //nolint:gosec // plot escapes.
}

func statesOf(apps []*app.Application) map[app.State]int {
	of := map[app.State]int{}
	for _, a := range apps {
		of[a.State]++
	}
	return of
}

// trouble gathers what an operator should look at.
func (s *Server) trouble(ctx context.Context, v *visit, apps []*app.Application, clusters []fleet.Cluster) (overviewTrouble, error) {
	var t overviewTrouble
	var bad []*app.Application
	for _, a := range apps {
		switch a.State {
		case app.Failing, app.Unscheduled, app.Unhealthy, app.Stale:
			bad = append(bad, a)
		default:
		}
	}
	slices.SortStableFunc(bad, func(a, b *app.Application) int { return app.Worse(*a, *b) })
	t.Applications, t.MoreApps = head(bad)
	t.Reasons = reasons(bad)
	var ill []fleet.Cluster
	for i := range clusters {
		if c := clusters[i]; c.State != fleet.Ready && c.State != fleet.Cordoned || len(c.Remarks) > 0 {
			ill = append(ill, c)
		}
	}
	slices.SortStableFunc(ill, fleet.Worse)
	t.Clusters, t.MoreClusters = head(ill)
	policies, err := s.seenPolicies(ctx, v.person, apps)
	if err != nil {
		return t, err
	}
	var idle []app.Policy
	for _, p := range policies {
		if p.Has == 0 {
			idle = append(idle, p.Policy)
		}
	}
	t.Idle, t.MoreIdle = head(idle)
	t.Nothing = len(apps)+len(clusters)+len(policies) == 0
	t.AllWell = len(bad)+len(ill)+len(idle) == 0
	t.MayJoin, err = s.may(ctx, v.person, makesTokens())
	return t, err
}

func head[T any](all []T) ([]T, int) {
	if len(all) <= overviewRows {
		return all, 0
	}
	return all[:overviewRows], len(all) - overviewRows
}

// reasons sums up why applications are in trouble, the most frequent first. What differs
// only in the names of the cluster and the application is one reason.
func reasons(bad []*app.Application) []reason {
	type key struct {
		text  string
		state app.State
	}
	at := map[key]*reason{}
	for _, a := range bad {
		told := map[key]bool{}
		for i := range a.Places {
			p := &a.Places[i]
			if p.State != app.Failing && p.State != app.Unhealthy && p.State != app.Stale {
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
		if a.State == app.Unscheduled {
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
	order := app.States()
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
func general(p *app.Place, a *app.Application) string {
	if p.State == app.Stale {
		return "Cluster " + p.Cluster + " is not heard from."
	}
	text := p.Why
	if len(a.Name) > 3 { //nolint:mnd // shorter ones are parts of words
		text = strings.ReplaceAll(text, a.Name, "…")
	}
	return strings.ReplaceAll(text, p.Cluster, "…")
}
