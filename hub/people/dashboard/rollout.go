package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/people/auth"
	"fairlead.dev/hub/people/dashboard/index"
	"fairlead.dev/hub/people/live"
	"fairlead.dev/hub/people/view"
	"fairlead.dev/hub/people/view/applications"
	"fairlead.dev/hub/people/view/diff"
	"fairlead.dev/hub/people/view/rollouts"
)

// rolloutFacts is the data of the first part of a rollout's page.
type rolloutFacts struct {
	rollouts.Rollout
	App     *applications.Application
	Waves   []waveRow
	Actions []link
}

// waveRow is a wave with its progress bar.
type waveRow struct {
	rollouts.Wave
	Going    bool
	Progress string
	Shares   template.HTML
}

// rolloutClusters are the targets of a rollout.
type rolloutClusters struct {
	Rows   []rolloutCluster
	Paging paging
	// States are the choices of a filter by state.
	States []choice
}

// rolloutCluster is a target, with the actions on it.
type rolloutCluster struct {
	rollouts.Cluster
	State string
	Sent  string
	Skip  string
}

// rolloutRevisions are the stored revisions, and a comparison of two of them.
type rolloutRevisions struct {
	Rows []revisionRow
	// From and To are the choices of what to compare, and Path is the target of the form.
	From, To []choice
	Path     string
	// Compared names the two revisions of Diff. Same says that they are equal, Problem why there is no comparison, and
	// Note what is omitted from it.
	Compared, Problem, Note string
	Same                    bool
	Diff                    []diff.Line
}

// revisionRow is a revision, with a link to return to it.
type revisionRow struct {
	rollouts.Revision
	State string
	Undo  string
}

func (s *Server) rollout(ctx context.Context, v *visit) (*page, error) {
	one, err := s.readRollout(ctx, v, "get")
	if err != nil {
		return nil, err
	}
	r := rollouts.Of(one.Object, one.App.Template, v.now)
	may, err := v.user.May(ctx, changesRollout(one, "patch"))
	if err != nil {
		return nil, err
	}
	approves, err := v.user.May(ctx, changesRollout(one, "approve"))
	if err != nil {
		return nil, err
	}
	facts := rolloutFacts{Rollout: r, App: one.App}
	for _, w := range r.Waves {
		facts.Waves = append(facts.Waves, waveRow{Wave: w, Going: w.Name == r.Wave, Progress: w.Progress(v.now), Shares: sharesOf(w, "wave "+w.Name)})
	}
	if may {
		facts.Actions = rolloutActions(&r, one.Object.RolloutStatus(), approves)
	}
	namespace := r.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	key := one.Object.GetNamespace() + "/" + one.Object.GetName()
	p := &page{
		title: "Rollout of " + r.Name, nav: "rollouts",
		heading: heading{Title: r.Name, Kind: "Rollout of the " + r.Kind, Trail: []link{{Text: "Rollouts", To: "/rollouts"}}},
		fragments: []fragment{
			{id: "rollout", template: "rollout-facts", data: facts},
			{id: "clusters", template: "rollout-clusters", data: s.rolloutClusters(v, one, &r, may)},
			{id: "revisions", template: "rollout-revisions", data: s.rolloutRevisions(ctx, v, one, &r, may)},
			{id: "events", template: "events", data: s.eventsAbout(ctx, v, namespace,
				object{kube.RolloutsIn(r.Namespace).Kind, one.Object.GetName()}, object{bindingKind(one.App), one.App.Binding})},
		},
		follows: func(t live.Topic) bool { return t.Kind == live.Rollout && t.Key == key },
	}
	if r.Namespace != "" {
		p.heading.Trail = append(p.heading.Trail, link{Text: r.Namespace, To: "/rollouts?namespace=" + r.Namespace})
	}
	if !r.Done || !r.CaughtUp {
		p.every = rolloutEvery // the soak time passes without any change of an object
	}
	return p, nil
}

// readRollout returns the rollout in the path, if the person has the right to the verb on it.
func (s *Server) readRollout(ctx context.Context, v *visit, verb string) (index.Rollout, error) {
	key := index.Key{Namespace: namespaceOf(v), Name: v.request.PathValue("name")}
	may := auth.Access{
		Verb: verb, Group: fairleadv1alpha1.GroupVersion.Group, Resource: kube.RolloutsIn(key.Namespace).Resource, Namespace: key.Namespace, Name: key.Name,
	}
	if err := v.user.Require(ctx, may); err != nil {
		return index.Rollout{}, err
	}
	one, found := s.index.Rollout(key)
	if !found {
		return index.Rollout{}, notFoundError{"There is no such rollout; perhaps no RolloutStrategy is named by the policy of the application."}
	}
	return one, nil
}

// changesRollout is the right to a verb on a rollout.
func changesRollout(one index.Rollout, verb string) auth.Access {
	return auth.Access{
		Verb: verb, Group: fairleadv1alpha1.GroupVersion.Group, Resource: kube.RolloutsIn(one.Object.GetNamespace()).Resource,
		Namespace: one.Object.GetNamespace(), Name: one.Object.GetName(),
	}
}

// rolloutClusters lists the targets; those that need attention come first.
func (s *Server) rolloutClusters(v *visit, one index.Rollout, r *rollouts.Rollout, may bool) rolloutClusters {
	all := rollouts.Clusters(one.Object.RolloutStatus(), one.App.Clusters(), nil)
	order, asked := rollouts.States(), v.text("state")
	slices.SortStableFunc(all, func(a, b rollouts.Cluster) int { return slices.Index(order, a.State) - slices.Index(order, b.State) })
	counts := map[fairleadv1alpha1.ClusterState]int{}
	for i := range all {
		counts[all[i].State]++
	}
	var out rolloutClusters
	out.States = append(out.States, choice{Text: "All", To: v.with("state", "", "page", ""), Chosen: asked == "", Count: len(all)})
	for _, state := range order {
		if counts[state] > 0 {
			out.States = append(out.States, choice{Text: rollouts.StateText(state), To: v.with("state", string(state), "page", ""), Chosen: asked == string(state), Count: counts[state]})
		}
	}
	all = slices.DeleteFunc(all, func(c rollouts.Cluster) bool { return asked != "" && string(c.State) != asked })
	shown, paging := pageOf(v, "page", "cluster", all, rowsPerPage)
	out.Paging = paging
	for _, c := range shown {
		row := rolloutCluster{Cluster: c, State: rollouts.StateText(c.State), Sent: appPath(r.Namespace, r.Binding) + "?cluster=" + c.Name}
		if may && !r.Done && c.State != fairleadv1alpha1.ClusterHealthy && c.State != fairleadv1alpha1.ClusterSkipped {
			row.Skip = rolloutPath(r.Namespace, r.Binding) + "/skip?cluster=" + c.Name
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

// rolloutRevisions lists the stored revisions, and compares two of them on request.
func (s *Server) rolloutRevisions(ctx context.Context, v *visit, one index.Rollout, r *rollouts.Rollout, may bool) rolloutRevisions {
	out := rolloutRevisions{Path: v.request.URL.EscapedPath()}
	from, to := v.text("from"), v.text("to")
	if from == "" && len(r.Revisions) > 1 {
		from = strconv.FormatInt(r.Revisions[1].Number, 10)
		if r.Stable > 0 && r.Stable < r.Revision {
			from = strconv.FormatInt(r.Stable, 10)
		}
	}
	for _, one := range r.Revisions {
		row := revisionRow{Revision: one}
		switch one.Number {
		case r.Stable:
			row.State = "stable"
		case r.Revision:
			row.State = "going out"
		}
		if may && one.Number != r.Revision {
			row.Undo = rolloutPath(r.Namespace, r.Binding) + "/undo?to=" + strconv.FormatInt(one.Number, 10)
		}
		out.Rows = append(out.Rows, row)
		number := strconv.FormatInt(one.Number, 10)
		out.From = append(out.From, choice{Value: number, Text: "r" + number, Chosen: number == from})
		out.To = append(out.To, choice{Value: number, Text: "r" + number, Chosen: number == to})
	}
	if v.text("to") == "" {
		return out
	}
	out.Compared = fmt.Sprintf("From r%s to r%s", from, to)
	first, note, err := s.contentOfRevision(ctx, v, one, from)
	var second, other string
	if err == nil {
		second, other, err = s.contentOfRevision(ctx, v, one, to)
	}
	out.Note = cmp.Or(note, other)
	if err != nil {
		out.Problem = "They cannot be compared: " + err.Error() + "."
		if apierrors.IsForbidden(err) {
			out.Problem = unreadable(err, "what these revisions consist of")
		}
		return out
	}
	const around = 3
	if out.Diff, err = diff.Lines(first, second, around); err != nil {
		out.Problem = err.Error()
	}
	out.Same = out.Problem == "" && len(out.Diff) == 0
	return out
}

// contentOfRevision reads, as the person, the content of a revision, and says what of it is not shown.
func (s *Server) contentOfRevision(ctx context.Context, v *visit, one index.Rollout, number string) (shown, note string, err error) {
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return "", "", fmt.Errorf("%q is not a revision", number)
	}
	reader, err := view.New(v.user.Hub, s.Mapper, s.served, s.clock)
	if err != nil {
		return "", "", err
	}
	kept, err := reader.Kept(ctx, one.Object, n)
	if err != nil {
		return "", "", err
	}
	content := view.ContentOf(n, kept, s.mask)
	var out []string
	for _, object := range content.Objects {
		text, err := s.manifestOf(object)
		if err != nil {
			return "", "", err
		}
		out = append(out, text)
	}
	for i := range content.Rules {
		text, err := s.manifestOf(&content.Rules[i])
		if err != nil {
			return "", "", err
		}
		out = append(out, "# overrides\n"+text)
	}
	return strings.Join(out, "---\n"), content.Note, nil
}
