package dashboard

import (
	"context"
	"html/template"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/fleet/registration/record"
	"fairlead.dev/hub/people/auth"
	"fairlead.dev/hub/people/dashboard/chart"
	"fairlead.dev/hub/people/live"
	"fairlead.dev/hub/people/pods"
	"fairlead.dev/hub/people/view/applications"
	"fairlead.dev/hub/people/view/clusters"
)

// clusterFacts is the data of the first part of a cluster's page.
type clusterFacts struct {
	clusterRow
	Member string
	Joined *record.Joined
	// Tags are the labels of the cluster.
	Tags          []string
	CertificateAt any
	MayJoin       bool
	// Line is the state of the agent's line; nil if it is not shown.
	Line *pods.LineState
}

// clusterCapacity is the capacity of a cluster, with its history.
type clusterCapacity struct {
	Resources []resourceUse
	Nodes     *clusters.Nodes
	// Lag is a plot of the age of the agent's last heartbeat.
	Lag template.HTML
}

// resourceUse is the use of one resource of a cluster.
type resourceUse struct {
	Name, Used, Total, Free, Pending string
	Percent                          int
	Bar, Plot                        template.HTML
}

// clusterWorks are the applications in a cluster.
type clusterWorks struct {
	Rows   []placeRow
	Paging paging
	Counts []choice
	// Filtered is the state of the rows, if a state is selected.
	Filtered string
	All      int
}

// placeRow is an application in a cluster.
type placeRow struct {
	App   *applications.Application
	Place applications.Place
}

func (s *Server) cluster(ctx context.Context, v *visit) (*page, error) {
	name := v.request.PathValue("cluster")
	c := &clusterv1alpha1.Cluster{}
	if err := v.user.Hub.Get(ctx, client.ObjectKey{Name: name}, c); err != nil {
		return nil, err
	}
	visible, err := s.visibility(ctx, v.user)
	if err != nil {
		return nil, err
	}
	row, known := s.index.Cluster(name, v.now, clusterDetails(visible))
	if !known {
		row = clusters.Of(clusters.Input{Cluster: c, Now: v.now}) // the index will have it in a moment
	}
	h, err := s.clusterHeading(ctx, v, c, row)
	if err != nil {
		return nil, err
	}
	facts := clusterFacts{clusterRow: rowOf(row, v.now), Member: c.Spec.ID, Joined: record.Read[record.Joined](c.Annotations, contract.JoinedAnnotation)}
	if row.Certificate != nil {
		facts.CertificateAt = row.Certificate.Expires
	}
	facts.Line = lineOf(ctx, v, name)
	for _, key := range slices.Sorted(maps.Keys(c.Labels)) {
		facts.Tags = append(facts.Tags, key+"="+c.Labels[key])
	}
	p := &page{title: name, nav: "clusters", heading: h, follows: func(t live.Topic) bool {
		switch t.Kind {
		case live.Cluster, live.Lease:
			return t.Key == name
		default:
			return t.Kind == live.Application
		}
	}}
	p.fragments = append(p.fragments, fragment{id: "facts", template: "cluster-facts", data: facts})
	if row.State == clusters.Joining {
		steps, err := s.steps(ctx, v, name)
		if err != nil {
			return nil, err
		}
		p.every = handshakeEvery
		p.fragments = append(p.fragments, fragment{id: "handshake", template: "handshake", data: steps})
	}
	events := s.eventsAbout(ctx, v, metav1.NamespaceDefault, object{clusterv1alpha1.KindCluster, name})
	p.fragments = append(p.fragments,
		fragment{id: "capacity", template: "cluster-capacity", data: s.capacity(v, row)},
		fragment{id: "conditions", template: "conditions", data: conditionsOf(c)},
		fragment{id: "works", template: "cluster-works", data: worksOf(v, visibleApplications(visible, s.index.InCluster(name)), name)},
		fragment{id: "events", template: "events", data: events},
	)
	return p, nil
}

// conditionRow is a condition of a cluster.
type conditionRow struct {
	metav1.Condition

	// SaidLast says that the agent reported it last and has fallen silent since, so it may be outdated.
	SaidLast bool
}

func conditionsOf(c *clusterv1alpha1.Cluster) []conditionRow {
	out := make([]conditionRow, 0, len(c.Status.Conditions))
	for _, condition := range c.Status.Conditions {
		out = append(out, conditionRow{condition, clusters.SaidLast(c, condition.Type)})
	}
	return out
}

// lineTimeout bounds how long a page waits for the state of a line.
const lineTimeout = 2 * time.Second

// lineOf reads, as the person, the state of a cluster's line; nil if it is not available.
func lineOf(ctx context.Context, v *visit, cluster string) *pods.LineState {
	members, err := membersOf(v)
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lineTimeout)
	defer cancel()
	out := members.LineState(ctx, cluster)
	if out == (pods.LineState{}) {
		return nil
	}
	return &out
}

func (s *Server) clusterHeading(ctx context.Context, v *visit, c *clusterv1alpha1.Cluster, row clusters.Cluster) (heading, error) {
	h := heading{Title: c.Name, Kind: "Cluster", Trail: []link{{Text: "Clusters", To: "/clusters"}}}
	may, err := v.user.May(ctx, changesCluster(c.Name))
	switch {
	case err != nil:
		return h, err
	case !may:
	case clusters.IsCordoned(c):
		h.Actions = append(h.Actions, link{Text: "Uncordon", To: clusterPath(c.Name) + "/uncordon"})
	case row.State != clusters.Removing && row.State != clusters.Forgotten:
		h.Actions = append(h.Actions, link{Text: "Cordon", To: clusterPath(c.Name) + "/cordon"})
	}
	return h, nil
}

func changesCluster(name string) auth.Access {
	return auth.Access{Verb: "patch", Group: clusterv1alpha1.GroupVersion.Group, Resource: "clusters", Name: name}
}

func (s *Server) capacity(v *visit, c clusters.Cluster) clusterCapacity {
	out := clusterCapacity{Nodes: c.Nodes}
	add := func(name, series string, u *clusters.Usage, say func(q quantity) string) {
		if u == nil {
			return
		}
		use := resourceUse{
			Name: name, Used: say(u.Used), Total: say(u.Total), Free: say(u.Free), Percent: u.Percent(), Bar: usageBar(name, u),
		}
		if !u.Pending.IsZero() {
			use.Pending = say(u.Pending)
		}
		if series != "" {
			use.Plot = s.fleetPlot(name+" used in the last hour", v.now, 1, chart.Line{Class: "busy", Samples: s.history.Samples(series + c.Name)})
		}
		out.Resources = append(out.Resources, use)
	}
	add("CPU", seriesCPU, c.CPU, func(q quantity) string { return cores(q) + " cores" })
	add("Memory", seriesMemory, c.Memory, bytesOf)
	add("Pods", "", c.Pods, count)
	if c.Heartbeat != nil {
		const calm = 60 // seconds at the top of the plot, if no value is greater
		out.Lag = s.fleetPlot("Seconds since the agent was heard from, in the last hour", v.now, calm,
			chart.Line{Class: "warn", Samples: s.history.Samples(seriesLag + c.Name)})
	}
	return out
}

// worksOf returns the applications in a cluster that match the query.
func worksOf(v *visit, apps []*applications.Application, cluster string) clusterWorks {
	state := v.text("state")
	out := clusterWorks{Filtered: state, All: len(apps)}
	counts := map[applications.State]int{}
	var rows []placeRow
	for _, a := range apps {
		i := slices.IndexFunc(a.Places, func(p applications.Place) bool { return p.Cluster == cluster })
		if i < 0 {
			continue
		}
		counts[a.Places[i].State]++
		if state == "" || string(a.Places[i].State) == state {
			rows = append(rows, placeRow{App: a, Place: a.Places[i]})
		}
	}
	order := applications.States()
	slices.SortStableFunc(rows, func(a, b placeRow) int {
		return slices.Index(order, a.Place.State) - slices.Index(order, b.Place.State)
	})
	for _, one := range order {
		if counts[one] > 0 {
			out.Counts = append(out.Counts, choice{Text: string(one), Count: counts[one], Chosen: state == string(one), To: v.with("state", string(one), "page", "")})
		}
	}
	if state != "" {
		out.Counts = append([]choice{{Text: "All", Count: len(apps), To: v.with("state", "", "page", "")}}, out.Counts...)
	}
	out.Rows, out.Paging = pageOf(v, "page", "object", rows, rowsPerPage)
	return out
}
