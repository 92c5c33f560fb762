package dashboard

import (
	"cmp"
	"context"
	"html/template"
	"slices"
	"strings"
	"time"

	"fairlead.dev/hub/people/auth"
	"fairlead.dev/hub/people/dashboard/chart"
	"fairlead.dev/hub/people/live"
	"fairlead.dev/hub/people/view/clusters"
)

// rowsPerPage is how many rows a page of a list has.
const rowsPerPage = 50

// clusterList is the data of the page of clusters.
type clusterList struct {
	Rows    []clusterRow
	Columns []column
	Paging  paging
	// Filtered says that a filter is set, and All is the number without it.
	Filtered bool
	All      int
	MayJoin  bool
}

// clusterRow is a cluster with its bars.
type clusterRow struct {
	clusters.Cluster
	CPUBar, MemoryBar template.HTML
	// CertificateEnds says when the certificate expires, and CertificateTone how urgent that is.
	CertificateEnds, CertificateTone string
}

// column is the heading of a sortable column.
type column struct {
	Text, To string
	// Sorted is ascending or descending; empty if the list is not sorted by this column.
	Sorted string
	// Wide columns are omitted on narrow screens.
	Wide bool
}

// filterBar are the filters of a list.
type filterBar struct {
	Action, Query, Placeholder string
	// Sort is the present order, which a change of the filter keeps.
	Sort    string
	Selects []filterSelect
	Clear   string
}

// filterSelect is one selection in a filter bar.
type filterSelect struct {
	Name, Label string
	Choices     []choice
}

func (s *Server) clusters(ctx context.Context, v *visit) (*page, error) {
	if err := v.user.Require(ctx, auth.ListsClusters()); err != nil {
		return nil, err
	}
	visible, err := s.visibility(ctx, v.user)
	if err != nil {
		return nil, err
	}
	all := s.index.Clusters(v.now, clusterDetails(visible))
	mayJoin, err := v.user.May(ctx, makesTokens())
	if err != nil {
		return nil, err
	}
	rows := filterClusters(v, all)
	columns := sortClusters(v, rows)
	shown, paging := pageOf(v, "page", "cluster", rows, rowsPerPage)
	list := clusterList{Columns: columns, Paging: paging, All: len(all), MayJoin: mayJoin}
	list.Filtered = v.text("q")+v.text("state")+v.text("region") != ""
	for _, c := range shown {
		list.Rows = append(list.Rows, rowOf(c, v.now))
	}
	h := heading{Title: "Clusters"}
	if mayJoin {
		h.Actions = []link{{Text: "Join a cluster", To: "/join"}}
	}
	return &page{
		title: "Clusters", nav: "clusters", heading: h,
		fragments: []fragment{
			{id: "filter", template: "filter", data: clusterFilter(v, all), still: true},
			{id: "clusters", template: "clusters", data: list},
		},
		follows: func(t live.Topic) bool {
			return t.Kind == live.Cluster || t.Kind == live.Application || t.Kind == live.Lease
		},
	}, nil
}

func rowOf(c clusters.Cluster, now time.Time) clusterRow {
	r := clusterRow{Cluster: c}
	r.CPUBar, r.MemoryBar = usageBar("CPU", c.CPU), usageBar("Memory", c.Memory)
	if c.Certificate != nil {
		const urgent = 72 * time.Hour
		r.CertificateEnds = until(c.Certificate.Expires, now)
		switch left := c.Certificate.Expires.Sub(now); {
		case left <= 0:
			r.CertificateTone = "bad"
		case left < urgent:
			r.CertificateTone = "warn"
		}
	}
	return r
}

func usageBar(what string, u *clusters.Usage) template.HTML {
	if u == nil {
		return ""
	}
	pending := 0.0
	if total := u.Total.AsApproximateFloat64(); total > 0 {
		pending = u.Pending.AsApproximateFloat64() / total
	}
	return template.HTML(chart.Bar(what+" used: "+plural(u.Percent(), "percent point"), usedShare(u), pending)) //nolint:gosec // plot escapes.
}

func filterClusters(v *visit, all []clusters.Cluster) []clusters.Cluster {
	words, state, region := strings.Fields(strings.ToLower(v.text("q"))), v.text("state"), v.text("region")
	out := make([]clusters.Cluster, 0, len(all))
	for i := range all {
		c := &all[i]
		if state != "" && string(c.State) != state || region != "" && c.Region != region || !matchesWords(c, words) {
			continue
		}
		out = append(out, *c)
	}
	return out
}

// matchesWords says whether each word occurs in the cluster's name or description.
func matchesWords(c *clusters.Cluster, words []string) bool {
	for _, word := range words {
		found := strings.Contains(c.Name, word) || strings.Contains(strings.ToLower(c.Version+" "+c.Region+" "+c.Provider+" "+strings.Join(c.Zones, " ")), word)
		for key, value := range c.Labels {
			found = found || strings.Contains(strings.ToLower(key+"="+value), word)
		}
		if !found {
			return false
		}
	}
	return true
}

func clusterFilter(v *visit, all []clusters.Cluster) filterBar {
	states, regions := map[string]int{}, map[string]int{}
	for i := range all {
		states[string(all[i].State)]++
		regions[all[i].Region]++
	}
	byState := filterSelect{Name: "state", Label: "State"}
	for _, state := range clusters.States() {
		if n := states[string(state)]; n > 0 || v.text("state") == string(state) {
			byState.Choices = append(byState.Choices, choice{Value: string(state), Text: string(state), Count: n, Chosen: v.text("state") == string(state)})
		}
	}
	byRegion := filterSelect{Name: "region", Label: "Region"}
	delete(regions, "")
	byRegion.Choices = choices(regions, v.text("region"))
	return filterBar{
		Action: "/clusters", Query: v.text("q"), Placeholder: "Name, region, version, label=value", Sort: v.text("sort"),
		Selects: []filterSelect{byState, byRegion}, Clear: clearOf(v, "q", "state", "region"),
	}
}

// maxChoices bounds the length of a selection.
const maxChoices = 500

// choices returns the choices of a selection, sorted.
func choices(counts map[string]int, chosen string) []choice {
	out := make([]choice, 0, len(counts))
	for value, n := range counts {
		out = append(out, choice{Value: value, Text: value, Count: n, Chosen: value == chosen})
	}
	slices.SortFunc(out, func(a, b choice) int { return cmp.Compare(a.Value, b.Value) })
	return out[:min(len(out), maxChoices)]
}

// clearOf returns the address of the page without a filter; empty if none is set.
func clearOf(v *visit, keys ...string) string {
	set := false
	pairs := []string{"page", ""}
	for _, key := range keys {
		set = set || v.text(key) != ""
		pairs = append(pairs, key, "")
	}
	if !set {
		return ""
	}
	return v.with(pairs...)
}

// sortClusters sorts the clusters according to the query, and returns the columns.
func sortClusters(v *visit, rows []clusters.Cluster) []column {
	lag := func(c *clusters.Cluster) float64 {
		if c.Lag == nil {
			return 1e12 // never heard from
		}
		return *c.Lag
	}
	orders := []struct {
		key, text string
		wide      bool
		compare   func(a, b *clusters.Cluster) int
	}{
		{"name", "Cluster", false, func(_, _ *clusters.Cluster) int { return 0 }},
		{"state", "State", false, func(a, b *clusters.Cluster) int { return clusters.CompareBySeverity(*a, *b) }},
		{"lag", "Heard from", false, func(a, b *clusters.Cluster) int { return cmp.Compare(lag(a), lag(b)) }},
		{"works", "Works", false, func(a, b *clusters.Cluster) int {
			if a.Works == nil || b.Works == nil {
				return 0
			}
			return cmp.Or(-cmp.Compare(a.Works.Failing, b.Works.Failing), -cmp.Compare(a.Works.Total, b.Works.Total))
		}},
		{"cpu", "CPU", false, func(a, b *clusters.Cluster) int { return -cmp.Compare(usedShareOf(a.CPU), usedShareOf(b.CPU)) }},
		{"memory", "Memory", false, func(a, b *clusters.Cluster) int { return -cmp.Compare(usedShareOf(a.Memory), usedShareOf(b.Memory)) }},
		{"version", "Version", true, func(a, b *clusters.Cluster) int { return cmp.Compare(a.Version, b.Version) }},
		{"certificate", "Certificate ends", true, func(a, b *clusters.Cluster) int { return certificateEnd(a).Compare(certificateEnd(b)) }},
	}
	by, down := strings.CutPrefix(v.text("sort"), "-")
	var columns []column
	for _, o := range orders {
		c := column{Text: o.text, Wide: o.wide, To: v.with("sort", o.key, "page", "")}
		if o.key == by || by == "" && o.key == "name" {
			c.Sorted = "ascending"
			if down {
				c.Sorted = "descending"
			} else {
				c.To = v.with("sort", "-"+o.key, "page", "")
			}
			slices.SortStableFunc(rows, func(a, b clusters.Cluster) int {
				order := cmp.Or(o.compare(&a, &b), cmp.Compare(a.Name, b.Name))
				if down {
					return -order
				}
				return order
			})
		}
		columns = append(columns, c)
	}
	return columns
}

func usedShareOf(u *clusters.Usage) float64 {
	if u == nil {
		return -1
	}
	return usedShare(u)
}

func certificateEnd(c *clusters.Cluster) time.Time {
	if c.Certificate == nil {
		return time.Time{}
	}
	return c.Certificate.Expires
}
