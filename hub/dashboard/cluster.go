package dashboard

import (
	"context"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/dashboard/plot"
	"fairlead.dev/hub/registration/record"
	"fairlead.dev/hub/view/app"
	"fairlead.dev/hub/view/fleet"
)

// clusterFacts is the first part of the page of a cluster.
type clusterFacts struct {
	clusterRow
	Member string
	Joined *record.Joined
	// Tags are its labels.
	Tags []string
	// Ago is since when it is as it is.
	CertificateAt any
	MayJoin       bool
}

// clusterCapacity is what a cluster has and had.
type clusterCapacity struct {
	Resources []resourceUse
	Nodes     *fleet.Nodes
	// Lag is how long ago the agent was heard from, over time.
	Lag template.HTML
}

// resourceUse is one resource of a cluster.
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
	// Filtered says that only those in a state are shown.
	Filtered string
	All      int
}

// placeRow is an application in a cluster.
type placeRow struct {
	App   *app.Application
	Place app.Place
}

func (s *Server) cluster(ctx context.Context, v *visit) (*page, error) {
	name := v.request.PathValue("cluster")
	c := &clusterv1alpha1.Cluster{}
	if err := v.person.hub.Get(ctx, client.ObjectKey{Name: name}, c); err != nil {
		return nil, err
	}
	sees, err := s.sightOf(ctx, v.person)
	if err != nil {
		return nil, err
	}
	row, known := s.index.Cluster(name, v.now, sees.beside())
	if !known {
		row = fleet.Of(fleet.Input{Cluster: c, Now: v.now}) // the cache will know it in a moment
	}
	h, err := s.clusterHeading(ctx, v, c, row)
	if err != nil {
		return nil, err
	}
	facts := clusterFacts{clusterRow: rowOf(row, v.now), Member: c.Spec.ID, Joined: record.Read[record.Joined](c.Annotations, contract.JoinedAnnotation)}
	if row.Certificate != nil {
		facts.CertificateAt = row.Certificate.Expires
	}
	for _, key := range slices.Sorted(maps.Keys(c.Labels)) {
		facts.Tags = append(facts.Tags, key+"="+c.Labels[key])
	}
	p := &page{title: name, nav: "clusters", heading: h, follows: func(t topic) bool {
		switch t.kind {
		case topicCluster, topicLease:
			return t.key == name
		default:
			return t.kind == topicApplication
		}
	}}
	p.fragments = append(p.fragments, fragment{id: "facts", template: "cluster-facts", data: facts})
	if row.State == fleet.Joining {
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
		fragment{id: "conditions", template: "conditions", data: c.Status.Conditions},
		fragment{id: "works", template: "cluster-works", data: worksOf(v, sees.seenApplications(s.index.In(name)), name)},
		fragment{id: "events", template: "events", data: events},
	)
	return p, nil
}

func (s *Server) clusterHeading(ctx context.Context, v *visit, c *clusterv1alpha1.Cluster, row fleet.Cluster) (heading, error) {
	h := heading{Title: c.Name, Kind: "Cluster", Trail: []link{{Text: "Clusters", To: "/clusters"}}}
	may, err := s.may(ctx, v.person, changesCluster(c.Name))
	switch {
	case err != nil:
		return h, err
	case !may:
	case fleet.IsCordoned(c):
		h.Actions = append(h.Actions, link{Text: "Uncordon", To: clusterPath(c.Name) + "/uncordon"})
	case row.State != fleet.Removing && row.State != fleet.Forgotten:
		h.Actions = append(h.Actions, link{Text: "Cordon", To: clusterPath(c.Name) + "/cordon"})
	}
	return h, nil
}

func changesCluster(name string) access {
	return access{verb: "patch", group: clusterv1alpha1.GroupVersion.Group, resource: "clusters", name: name}
}

func (s *Server) capacity(v *visit, c fleet.Cluster) clusterCapacity {
	out := clusterCapacity{Nodes: c.Nodes}
	add := func(name, series string, u *fleet.Usage, say func(q quantity) string) {
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
			use.Plot = s.fleetPlot(name+" used in the last hour", v.now, 1, plot.Line{Class: "busy", Samples: s.history.Samples(series + c.Name)})
		}
		out.Resources = append(out.Resources, use)
	}
	add("CPU", seriesCPU, c.CPU, func(q quantity) string { return cores(q) + " cores" })
	add("Memory", seriesMemory, c.Memory, bytesOf)
	add("Pods", "", c.Pods, count)
	if c.Heartbeat != nil {
		const calm = 60 // seconds that fill the plot, if nothing is worse
		out.Lag = s.fleetPlot("Seconds since the agent was heard from, in the last hour", v.now, calm,
			plot.Line{Class: "warn", Samples: s.history.Samples(seriesLag + c.Name)})
	}
	return out
}

// worksOf returns the part of the applications in a cluster that the query asks for.
func worksOf(v *visit, apps []*app.Application, cluster string) clusterWorks {
	state := v.text("state")
	out := clusterWorks{Filtered: state, All: len(apps)}
	counts := map[app.State]int{}
	var rows []placeRow
	for _, a := range apps {
		i := slices.IndexFunc(a.Places, func(p app.Place) bool { return p.Cluster == cluster })
		if i < 0 {
			continue
		}
		counts[a.Places[i].State]++
		if state == "" || string(a.Places[i].State) == state {
			rows = append(rows, placeRow{App: a, Place: a.Places[i]})
		}
	}
	order := app.States()
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

// object names what events are about.
type object struct{ kind, name string }

// happened is what the events of an object tell.
type happened struct {
	Events []corev1.Event
	// Denied says what the person may not read.
	Denied string
}

// maxEvents is how many events are read and shown.
const maxEvents = 40

// eventsAbout reads the latest events about objects of a namespace, as the person. What may
// not be read is said to be so.
func (s *Server) eventsAbout(ctx context.Context, v *visit, namespace string, objects ...object) happened {
	var out happened
	for _, o := range objects {
		var list corev1.EventList
		err := v.person.hub.List(ctx, &list, client.InNamespace(namespace), client.Limit(maxEvents*4),
			client.MatchingFields{"involvedObject.kind": o.kind, "involvedObject.name": o.name})
		if err != nil {
			out.Denied = fmt.Sprintf("Events in namespace %s cannot be shown: %s.", namespace, strings.TrimSuffix(err.Error(), "."))
			return out
		}
		out.Events = append(out.Events, list.Items...)
	}
	slices.SortStableFunc(out.Events, func(a, b corev1.Event) int { return happenedAt(&b).Compare(happenedAt(&a).Time) })
	out.Events = out.Events[:min(len(out.Events), maxEvents)]
	return out
}

// happenedAt returns when an event was last told.
func happenedAt(e *corev1.Event) metav1.Time {
	switch {
	case e.Series != nil:
		return metav1.NewTime(e.Series.LastObservedTime.Time)
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp
	case !e.EventTime.IsZero():
		return metav1.NewTime(e.EventTime.Time)
	default:
		return e.CreationTimestamp
	}
}
