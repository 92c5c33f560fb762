package dashboard

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1alpha1 "fairlead.dev/common/api/apps/v1alpha1"
	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/revision"
	"fairlead.dev/hub/people/auth"
	"fairlead.dev/hub/people/dashboard/index"
	"fairlead.dev/hub/people/live"
	"fairlead.dev/hub/people/view/applications"
	"fairlead.dev/hub/people/view/diff"
)

// applicationFacts is the first part of the page of an application.
type applicationFacts struct {
	*applications.Application
	Counts []stateCount
}

// applicationPlaces is where an application is.
type applicationPlaces struct {
	Rows   []placeLink
	Paging paging
}

// placeLink is a cluster that has an application, with where to see what was sent there.
type placeLink struct {
	applications.Place
	To     string
	Chosen bool
}

// sent is what one cluster was sent.
type sent struct {
	Cluster string
	// Text is the manifest, Diff how it differs from the template or from what another
	// cluster was sent.
	Text string
	Diff []diff.Line
	// Same says that nothing differs, Against from what.
	Same    bool
	Against string
	// Tabs choose between them, Others another cluster to compare with.
	Tabs   []choice
	Others []choice
	// Problem says why there is nothing to show.
	Problem   string
	Overrides []string
	// Revision says of which revision it is, where changes go out in waves.
	Revision string
	Path     string
}

func (s *Server) application(ctx context.Context, v *visit) (*page, error) {
	a, err := s.readApplication(ctx, v)
	if err != nil {
		return nil, err
	}
	key := a.Namespace + "/" + a.Binding
	p := &page{
		title: a.Name, nav: "applications", follows: func(t live.Topic) bool { return t.Kind == live.Application && t.Key == key },
		heading: heading{Title: a.Name, Kind: a.Kind, Trail: []link{{Text: "Applications", To: "/applications"}}},
	}
	if a.Namespace != "" {
		p.heading.Trail = append(p.heading.Trail, link{Text: a.Namespace, To: "/applications?namespace=" + a.Namespace})
	}
	may, err := v.user.May(ctx, rebalances())
	if err != nil {
		return nil, err
	}
	if may && a.Policy.Name != "" {
		p.heading.Actions = []link{{Text: "Rebalance", To: appPath(a.Namespace, a.Binding) + "/rebalance"}}
	}
	if _, staged := s.index.Rollout(index.Key{Namespace: a.Namespace, Name: a.Binding}); staged {
		p.heading.Actions = append(p.heading.Actions, link{Text: "Rollout", To: rolloutPath(a.Namespace, a.Binding)})
	}
	if hasPods(a) {
		p.heading.Actions = append(p.heading.Actions, link{Text: "Pods", To: reachPath(a, "pods", "", "", "")})
	}
	order := applications.States()
	places := slices.Clone(a.Places)
	slices.SortStableFunc(places, func(x, y applications.Place) int { return slices.Index(order, x.State) - slices.Index(order, y.State) })
	chosen := v.text("cluster")
	if chosen == "" && len(places) > 0 {
		chosen = places[0].Cluster
	}
	shown, paging := pageOf(v, "page", "cluster", places, rowsPerPage)
	list := applicationPlaces{Paging: paging}
	for _, place := range shown {
		list.Rows = append(list.Rows, placeLink{Place: place, To: v.with("cluster", place.Cluster), Chosen: place.Cluster == chosen})
	}
	facts := applicationFacts{Application: a}
	counts := map[applications.State]int{}
	for i := range a.Places {
		counts[a.Places[i].State]++
	}
	for _, state := range order {
		if counts[state] > 0 {
			facts.Counts = append(facts.Counts, stateCount{State: string(state), Count: counts[state]})
		}
	}
	p.fragments = append(p.fragments,
		fragment{id: "facts", template: "application-facts", data: facts},
		fragment{id: "places", template: "application-places", data: list},
	)
	p.fragments = append(p.fragments, fragment{id: "why", template: "explanation", data: s.explanation(ctx, v, a)})
	if chosen != "" {
		p.fragments = append(p.fragments, fragment{id: "sent", template: "application-sent", data: s.sentTo(ctx, v, a, chosen)})
	}
	namespace := a.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	events := s.eventsAbout(ctx, v, namespace, object{a.Kind, a.Name}, object{bindingKind(a), a.Binding})
	p.fragments = append(p.fragments, fragment{id: "events", template: "events", data: events})
	return p, nil
}

func bindingKind(a *applications.Application) string {
	if a.Namespace == "" {
		return "ClusterResourceBinding"
	}
	return "ResourceBinding"
}

// readApplication returns the application of the path, if the person may read its binding.
func (s *Server) readApplication(ctx context.Context, v *visit) (*applications.Application, error) {
	key := index.Key{Namespace: namespaceOf(v), Name: v.request.PathValue("name")}
	read := auth.Access{Verb: "get", Group: workv1alpha2.GroupVersion.Group, Resource: "resourcebindings", Namespace: key.Namespace, Name: key.Name}
	if key.Namespace == "" {
		read.Resource = "clusterresourcebindings"
	}
	if err := v.user.Must(ctx, read); err != nil {
		return nil, err
	}
	a := s.index.Application(key)
	if a == nil {
		return nil, notFoundError{"The hub leads no such application out; perhaps no policy selects it."}
	}
	return a, nil
}

// sentTo reads, as the person, what a cluster was sent of an application.
func (s *Server) sentTo(ctx context.Context, v *visit, a *applications.Application, cluster string) sent {
	against, show := v.text("against"), v.text("show")
	out := sent{Cluster: cluster, Against: "the template", Path: v.request.URL.EscapedPath()}
	if against != "" {
		out.Against = "what " + against + " was sent"
		show = "diff"
	}
	out.Tabs = []choice{
		{Text: "Manifest", To: v.with("cluster", cluster, "show", "", "against", ""), Chosen: show != "diff"},
		{Text: "Differs from the template", To: v.with("cluster", cluster, "show", "diff", "against", ""), Chosen: show == "diff" && against == ""},
	}
	for i := range a.Places {
		if name := a.Places[i].Cluster; name != cluster && len(out.Others) < maxChoices {
			out.Others = append(out.Others, choice{Value: name, Text: name, Chosen: name == against})
		}
	}
	content, work, err := s.workOf(ctx, v, a, cluster)
	if err != nil {
		out.Problem = unreadable(err, "what "+cluster+" was sent")
		return out
	}
	out.Overrides, out.Revision = overridesOf(work), revisionOf(work)
	if show != "diff" {
		if out.Text, err = s.manifestOf(content); err != nil {
			out.Problem = err.Error()
		}
		return out
	}
	var base map[string]any
	if against != "" {
		var other *workv1alpha1.Work
		if base, other, err = s.workOf(ctx, v, a, against); err == nil && revisionOf(other) != "" {
			out.Against += " (" + revisionOf(other) + ")"
		}
	} else {
		base, err = s.templateOf(ctx, v, a)
	}
	if err != nil {
		out.Problem = unreadable(err, out.Against)
		return out
	}
	rendering(base)
	rendering(content)
	first, err := s.manifestOf(base)
	second, err2 := s.manifestOf(content)
	if err = errors.Join(err, err2); err != nil {
		out.Problem = err.Error()
		return out
	}
	const around = 3
	if out.Diff, err = diff.Lines(first, second, around); err != nil {
		out.Problem = err.Error()
		return out
	}
	out.Same = len(out.Diff) == 0
	return out
}

// revisionOf names the revision of a Work; empty if it is of none.
func revisionOf(work *workv1alpha1.Work) string {
	id := revision.Parse(work.Annotations[contract.RevisionAnnotation])
	if id.Zero() {
		return ""
	}
	said := fmt.Sprintf("r%d", id.Number)
	if of := work.Annotations[contract.RevisionOfAnnotation]; of != "" {
		said += " of " + of
	}
	return said
}

// unreadable says why something cannot be shown.
func unreadable(err error, what string) string {
	switch {
	case apierrors.IsForbidden(err):
		return "You may not read " + what + ": " + err.Error() + "."
	case apierrors.IsNotFound(err):
		return "There is nothing yet: " + err.Error() + "."
	default:
		return "This could not be read: " + err.Error() + "."
	}
}

// workOf reads what the Work of an application carries to a cluster.
func (s *Server) workOf(ctx context.Context, v *visit, a *applications.Application, cluster string) (map[string]any, *workv1alpha1.Work, error) {
	namespace := contract.ExecutionNamespace(contract.DefaultExecutionNamespacePrefix, cluster)
	c := &clusterv1alpha1.Cluster{}
	if err := v.user.Hub.Get(ctx, client.ObjectKey{Name: cluster}, c); err == nil && c.Annotations[contract.ExecutionNamespaceAnnotation] != "" {
		namespace = c.Annotations[contract.ExecutionNamespaceAnnotation]
	}
	work := &workv1alpha1.Work{}
	if err := v.user.Hub.Get(ctx, client.ObjectKey{Namespace: namespace, Name: contract.WorkName(a.Kind, a.Namespace, a.Name)}, work); err != nil {
		return nil, nil, err
	}
	if len(work.Spec.Workload.Manifests) == 0 {
		return nil, nil, fmt.Errorf("work %s/%s carries nothing", namespace, work.Name)
	}
	content, err := contentOf(work.Spec.Workload.Manifests[0].Raw)
	return content, work, err
}

// templateOf reads the template of an application.
func (s *Server) templateOf(ctx context.Context, v *visit, a *applications.Application) (map[string]any, error) {
	group, err := schema.ParseGroupVersion(a.APIVersion)
	if err != nil {
		return nil, fmt.Errorf("reading the API version %q: %w", a.APIVersion, err)
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(group.WithKind(a.Kind))
	if err := v.user.Hub.Get(ctx, client.ObjectKey{Namespace: a.Namespace, Name: a.Name}, u); err != nil {
		return nil, err
	}
	return u.Object, nil
}

func rebalances() auth.Access {
	return auth.Access{Verb: "create", Group: appsv1alpha1.GroupVersion.Group, Resource: "workloadrebalancers"}
}

func (s *Server) askRebalance(ctx context.Context, v *visit) (*question, error) {
	a, err := s.readApplication(ctx, v)
	if err != nil {
		return nil, err
	}
	if err := v.user.Must(ctx, rebalances()); err != nil {
		return nil, err
	}
	return &question{
		Title: "Rebalance " + a.Name + "?", Button: "Rebalance", Back: appPath(a.Namespace, a.Binding), Danger: true,
		Text:    "Its clusters are chosen anew, as if it were new: replicas may move from where they run well to where there is more room now.",
		Warning: "Copies that are moved are stopped where they run.",
	}, nil
}

func (s *Server) doRebalance(ctx context.Context, v *visit) (string, string, error) {
	a, err := s.readApplication(ctx, v)
	if err != nil {
		return "", "", err
	}
	const keep = 3600 // seconds for which the request stays to be looked at
	ttl := int32(keep)
	request := &appsv1alpha1.WorkloadRebalancer{
		ObjectMeta: metav1.ObjectMeta{GenerateName: a.Binding[:min(len(a.Binding), 40)] + "-"},
		Spec: appsv1alpha1.WorkloadRebalancerSpec{
			Workloads:               []appsv1alpha1.ObjectReference{{APIVersion: a.APIVersion, Kind: a.Kind, Namespace: a.Namespace, Name: a.Name}},
			TTLSecondsAfterFinished: &ttl,
		},
	}
	if err := v.user.Hub.Create(ctx, request, client.FieldOwner(contract.FieldManagerDashboard)); err != nil {
		return "", "", fmt.Errorf("asking for a rebalance of %s: %w", a.Template, err)
	}
	return fmt.Sprintf("Asked for: WorkloadRebalancer %s. The clusters are chosen anew in a moment.", request.Name), appPath(a.Namespace, a.Binding), nil
}
