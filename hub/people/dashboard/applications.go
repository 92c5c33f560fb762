package dashboard

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"fairlead.dev/hub/people/auth"
	"fairlead.dev/hub/people/live"
	"fairlead.dev/hub/people/view/applications"
)

// The size of the visible part of the matrix.
const (
	matrixRows    = 40
	matrixColumns = 24
)

// matrix is the table of applications by clusters.
type matrix struct {
	Clusters []string
	Rows     []matrixRow
	// Paging is for the rows, and Columns for the clusters.
	Paging, Columns paging
	Filtered        bool
	All             int
	// Hidden says that there may be applications that the person may not list.
	Hidden bool
	Legend []applications.State
	Sorted string
	ByName, ByState,
	Nothing string
}

// matrixRow is an application, with a cell for each visible cluster.
type matrixRow struct {
	App   *applications.Application
	Cells []*applications.Place
}

func (s *Server) applications(ctx context.Context, v *visit) (*page, error) {
	visible, err := s.visibility(ctx, v.user)
	if err != nil {
		return nil, err
	}
	all := visibleApplications(visible, s.index.Applications())
	rows := filterApplications(v, all)
	m := matrix{All: len(all), Hidden: !visible.AllApplications(), Legend: applications.States(), Sorted: v.text("sort")}
	m.ByName, m.ByState = v.with("sort", "", "page", ""), v.with("sort", "state", "page", "")
	m.Filtered = len(rows) != len(all) || v.text("q") != ""
	if m.Sorted == "state" {
		rows = slices.Clone(rows)
		rank := map[applications.State]int{}
		for i, state := range applications.States() {
			rank[state] = i
		}
		slices.SortStableFunc(rows, func(a, b *applications.Application) int { return cmp.Compare(rank[a.State], rank[b.State]) })
	}
	shown, paging := pageOf(v, "page", "application", rows, matrixRows)
	m.Paging = paging
	m.Clusters, m.Columns = pageOf(v, "columns", "cluster", clustersOf(shown, v.text("cluster")), matrixColumns)
	at := make(map[string]int, len(m.Clusters))
	for i, name := range m.Clusters {
		at[name] = i
	}
	for _, a := range shown {
		row := matrixRow{App: a, Cells: make([]*applications.Place, len(m.Clusters))}
		for i := range a.Places {
			if column, ok := at[a.Places[i].Cluster]; ok {
				row.Cells[column] = &a.Places[i]
			}
		}
		m.Rows = append(m.Rows, row)
	}
	return &page{
		title: "Applications", nav: "applications", heading: heading{Title: "Applications"},
		fragments: []fragment{
			{id: "filter", template: "filter", data: s.applicationFilter(v, all, visible), still: true},
			{id: "matrix", template: "matrix", data: m},
		},
		follows: func(t live.Topic) bool { return t.Kind == live.Application },
	}, nil
}

// filterApplications returns the applications that match the query.
func filterApplications(v *visit, all []*applications.Application) []*applications.Application {
	words := strings.Fields(strings.ToLower(v.text("q")))
	namespace, kind, state, cluster := v.text("namespace"), v.text("kind"), v.text("state"), v.text("cluster")
	if len(words) == 0 && namespace+kind+state+cluster == "" {
		return all
	}
	out := make([]*applications.Application, 0, len(all))
	for _, a := range all {
		if namespace != "" && a.Namespace != namespace || kind != "" && a.Kind != kind || state != "" && string(a.State) != state {
			continue
		}
		if cluster != "" && !slices.ContainsFunc(a.Places, func(p applications.Place) bool { return p.Cluster == cluster }) {
			continue
		}
		if len(words) > 0 && !containsAll(strings.ToLower(a.Namespace+"/"+a.Name+" "+a.Kind+" "+a.Policy.Name), words) {
			continue
		}
		out = append(out, a)
	}
	return out
}

// clustersOf returns the clusters that any of the applications is in, or only the requested one.
func clustersOf(apps []*applications.Application, only string) []string {
	if only != "" {
		return []string{only}
	}
	seen := map[string]bool{}
	var out []string
	for _, a := range apps {
		for i := range a.Places {
			if name := a.Places[i].Cluster; !seen[name] {
				seen[name] = true
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return out
}

func (s *Server) applicationFilter(v *visit, all []*applications.Application, visible auth.Visibility) filterBar {
	namespaces, kinds, states := map[string]int{}, map[string]int{}, map[applications.State]int{}
	for _, a := range all {
		namespaces[a.Namespace]++
		kinds[a.Kind]++
		states[a.State]++
	}
	delete(namespaces, "")
	byState := filterSelect{Name: "state", Label: "State"}
	for _, state := range applications.States() {
		if n := states[state]; n > 0 || v.text("state") == string(state) {
			byState.Choices = append(byState.Choices, choice{Value: string(state), Text: string(state), Count: n, Chosen: v.text("state") == string(state)})
		}
	}
	byCluster := filterSelect{Name: "cluster", Label: "Cluster"}
	if visible.Clusters {
		for _, name := range s.index.ClusterNames() {
			if len(byCluster.Choices) < maxChoices || name == v.text("cluster") {
				byCluster.Choices = append(byCluster.Choices, choice{Value: name, Text: name, Chosen: name == v.text("cluster")})
			}
		}
	}
	return filterBar{
		Action: "/applications", Query: v.text("q"), Placeholder: "Name, kind or policy", Sort: v.text("sort"),
		Selects: []filterSelect{
			byState,
			{Name: "namespace", Label: "Namespace", Choices: choices(namespaces, v.text("namespace"))},
			{Name: "kind", Label: "Kind", Choices: choices(kinds, v.text("kind"))},
			byCluster,
		},
		Clear: clearOf(v, "q", "namespace", "kind", "state", "cluster"),
	}
}
