package dashboard

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/hub/people/auth"
	"fairlead.dev/hub/people/dashboard/index"
	"fairlead.dev/hub/people/live"
	"fairlead.dev/hub/people/view/applications"
)

// applicationFacts is the data of the first part of an application's page.
type applicationFacts struct {
	*applications.Application
	Counts []stateCount
}

// applicationPlaces are the clusters of an application.
type applicationPlaces struct {
	Rows   []placeLink
	Paging paging
}

// placeLink is a cluster of an application, with a link to what was sent there.
type placeLink struct {
	applications.Place
	To     string
	Chosen bool
}

func (s *Server) application(ctx context.Context, v *visit) (*page, error) {
	a, err := s.readApplication(ctx, v)
	if err != nil {
		return nil, err
	}
	key := a.Namespace + "/" + a.Binding
	p := &page{title: a.Name, nav: "applications", follows: func(t live.Topic) bool { return t.Kind == live.Application && t.Key == key }}
	if p.heading, err = s.applicationHeading(ctx, v, a); err != nil {
		return nil, err
	}
	places, chosen := applicationPlacesOf(v, a)
	p.fragments = append(p.fragments,
		fragment{id: "facts", template: "application-facts", data: applicationFacts{Application: a, Counts: stateCounts(a)}},
		fragment{id: "places", template: "application-places", data: places},
		fragment{id: "why", template: "explanation", data: s.explanation(ctx, v, a)},
	)
	if chosen != "" {
		p.fragments = append(p.fragments, fragment{id: "sent", template: "application-sent", data: s.readSent(ctx, v, a, chosen)})
	}
	namespace := a.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	events := s.eventsAbout(ctx, v, namespace, object{a.Kind, a.Name}, object{bindingKind(a), a.Binding})
	p.fragments = append(p.fragments, fragment{id: "events", template: "events", data: events})
	return p, nil
}

// applicationHeading returns the heading, with the actions that the person may take on the application.
func (s *Server) applicationHeading(ctx context.Context, v *visit, a *applications.Application) (heading, error) {
	h := heading{Title: a.Name, Kind: a.Kind, Trail: []link{{Text: "Applications", To: "/applications"}}}
	if a.Namespace != "" {
		h.Trail = append(h.Trail, link{Text: a.Namespace, To: "/applications?namespace=" + a.Namespace})
	}
	may, err := v.user.May(ctx, rebalances())
	if err != nil {
		return h, err
	}
	if may && a.Policy.Name != "" {
		h.Actions = []link{{Text: "Rebalance", To: appPath(a.Namespace, a.Binding) + "/rebalance"}}
	}
	if _, staged := s.index.Rollout(index.Key{Namespace: a.Namespace, Name: a.Binding}); staged {
		h.Actions = append(h.Actions, link{Text: "Rollout", To: rolloutPath(a.Namespace, a.Binding)})
	}
	if hasPods(a) {
		h.Actions = append(h.Actions, link{Text: "Pods", To: podPath(a, "pods", "", "", "")})
	}
	return h, nil
}

// applicationPlacesOf returns the clusters of an application, the worst first, and the chosen one: the first by
// default.
func applicationPlacesOf(v *visit, a *applications.Application) (list applicationPlaces, chosen string) {
	order := applications.States()
	places := slices.Clone(a.Places)
	slices.SortStableFunc(places, func(x, y applications.Place) int { return slices.Index(order, x.State) - slices.Index(order, y.State) })
	chosen = v.text("cluster")
	if chosen == "" && len(places) > 0 {
		chosen = places[0].Cluster
	}
	shown, paging := pageOf(v, "page", "cluster", places, rowsPerPage)
	list.Paging = paging
	for _, place := range shown {
		list.Rows = append(list.Rows, placeLink{Place: place, To: v.with("cluster", place.Cluster), Chosen: place.Cluster == chosen})
	}
	return list, chosen
}

// stateCounts counts the clusters of an application by state.
func stateCounts(a *applications.Application) []stateCount {
	counts := map[applications.State]int{}
	for i := range a.Places {
		counts[a.Places[i].State]++
	}
	var out []stateCount
	for _, state := range applications.States() {
		if counts[state] > 0 {
			out = append(out, stateCount{State: string(state), Count: counts[state]})
		}
	}
	return out
}

func bindingKind(a *applications.Application) string {
	if a.Namespace == "" {
		return "ClusterResourceBinding"
	}
	return "ResourceBinding"
}

// readApplication returns the application in the path, if the person may read its binding.
func (s *Server) readApplication(ctx context.Context, v *visit) (*applications.Application, error) {
	key := index.Key{Namespace: namespaceOf(v), Name: v.request.PathValue("name")}
	read := auth.Access{Verb: "get", Group: workv1alpha2.GroupVersion.Group, Resource: "resourcebindings", Namespace: key.Namespace, Name: key.Name}
	if key.Namespace == "" {
		read.Resource = "clusterresourcebindings"
	}
	if err := v.user.Require(ctx, read); err != nil {
		return nil, err
	}
	a := s.index.Application(key)
	if a == nil {
		return nil, notFoundError{"The hub propagates no such application; perhaps no policy selects it."}
	}
	return a, nil
}
