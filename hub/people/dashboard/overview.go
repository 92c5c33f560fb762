package dashboard

import (
	"context"
	"fmt"
	"html/template"
	"slices"
	"time"

	"fairlead.dev/hub/people/auth"
	"fairlead.dev/hub/people/dashboard/chart"
	"fairlead.dev/hub/people/dashboard/index"
	"fairlead.dev/hub/people/live"
	"fairlead.dev/hub/people/view/applications"
	"fairlead.dev/hub/people/view/clusters"
)

// historySpan is the time span of plots.
const historySpan = chart.Every * chart.Length

// The lengths of the lists on the overview.
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

// stateCount is the number of items in a state.
type stateCount struct {
	State string
	Count int
	To    string
}

func (s *Server) overview(ctx context.Context, v *visit) (*page, error) {
	visible, err := s.visibility(ctx, v.user)
	if err != nil {
		return nil, err
	}
	apps := visibleApplications(visible, s.index.Applications())
	var fleet []clusters.Cluster
	if visible.Clusters {
		fleet = s.index.Clusters(v.now, clusterDetails(visible))
	}
	attention, err := s.attention(ctx, v, visible, apps, fleet)
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
			{id: "trouble", template: "overview-trouble", data: attention},
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
	count := map[clusters.State]int{}
	for i := range fleet {
		count[fleet[i].State]++
	}
	t.Good = count[clusters.Ready] + count[clusters.Cordoned]
	t.Says = "ready"
	setStates(&t, clusters.States(), count, fmt.Sprintf("%d of %d clusters are ready", t.Good, t.All))
	t.Plot = s.fleetPlot("Clusters that were ready in the last hour", now, float64(len(fleet)),
		chart.Line{Class: "all", Samples: s.history.Samples(seriesClusters)}, chart.Line{Class: "ok", Samples: s.history.Samples(seriesReady)})
	t.PlotSays = "ready, last hour"
	return t
}

// setStates sets the counts of a tile by state, the last of the states first, as a list of links and as a bar, which label describes.
func setStates[S ~string](t *tile, states []S, count map[S]int, label string) {
	var shares []chart.Share
	for _, state := range slices.Backward(states) {
		shares = append(shares, chart.Share{Class: stateClass(state), Count: count[state]})
		if count[state] > 0 {
			t.Breakdown = append(t.Breakdown, stateCount{string(state), count[state], t.To + "?state=" + string(state)})
		}
	}
	t.Shares = template.HTML(chart.Shares(label, shares)) //nolint:gosec // Shares escapes.
}

func (s *Server) applicationTile(visible auth.Visibility, apps []*applications.Application, now time.Time) tile {
	t := tile{Title: "Applications", To: "/applications", All: len(apps), Says: "healthy"}
	if visible.Applications.None() && !visible.ClusterApplications && len(apps) == 0 {
		t.NotAllowed = "You see the applications of namespaces in which you may list resourcebindings.work.karmada.io."
	}
	count := statesOf(apps)
	t.Good = count[applications.Healthy]
	setStates(&t, applications.States(), count, fmt.Sprintf("%d of %d applications are healthy", t.Good, t.All))
	if visible.AllApplications() { // the series count all
		t.Plot = s.fleetPlot("Applications that were not healthy in the last hour", now, 1, chart.Line{Class: "bad", Samples: s.history.Samples(seriesFailing)})
		t.PlotSays = "not healthy, last hour"
	}
	return t
}

// deliveryTile counts deliveries to clusters.
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
	count := map[applications.State]int{}
	for _, a := range apps {
		count[a.State]++
	}
	return count
}
