package dashboard

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/people/dashboard/index"
	"fairlead.dev/hub/people/operate"
	"fairlead.dev/hub/people/view/rollouts"
)

// rolloutEvery is how often the page of an active rollout is rendered again although nothing changed.
const rolloutEvery = 10 * time.Second

// rolloutActions returns links to the actions that a person may take on a rollout in its present state.
func rolloutActions(r *rollouts.Rollout, status *fairleadv1alpha1.StagedRolloutStatus, approves bool) []link {
	path := rolloutPath(r.Namespace, r.Binding)
	var out []link
	add := func(text, to string, danger bool) { out = append(out, link{Text: text, To: path + to, Danger: danger}) }
	if rollouts.WaitsForApproval(status) != "" && approves {
		add("Approve", "/approve", false)
	}
	if r.Paused {
		add("Resume", "/resume", false)
	} else if !r.Done || !r.CaughtUp {
		add("Pause", "/pause", false)
	}
	if rollouts.FailedNoMore(status) || slices.ContainsFunc(r.Groups, func(g rollouts.Group) bool { return g.State == fairleadv1alpha1.ClusterFailed }) {
		add("Retry", "/retry", false)
	}
	if _, err := operate.OlderRevision(status, 0); err == nil {
		add("Undo", "/undo", true)
	}
	if r.Stable > 0 && r.Stable < r.Revision {
		add("Abort", "/abort", true)
	}
	return out
}

// askedRollout reads the rollout of a question or an answer, and the operations on it as the person.
func (s *Server) askedRollout(ctx context.Context, v *visit, verb string) (index.Rollout, operate.Rollout, error) {
	one, err := s.readRollout(ctx, v, verb)
	if err != nil {
		return one, operate.Rollout{}, err
	}
	key := client.ObjectKey{Namespace: one.Object.GetNamespace(), Name: one.Object.GetName()}
	return one, operate.Rollout{Hub: v.user.Hub, FieldManager: contract.FieldManagerDashboard, ObjectKey: key}, nil
}

// seenField is the form field with the newest revision when the person was asked.
const seenField = "seen"

// rolloutQuestion starts a question about a rollout.
func rolloutQuestion(one index.Rollout, verb string) *question {
	return &question{
		Title: fmt.Sprintf("%s the rollout of %s?", verb, one.App.Name), Button: verb, Back: rolloutPath(one.App.Namespace, one.App.Binding),
		Fields: map[string]string{seenField: strconv.FormatInt(one.Object.RolloutStatus().Revision, 10)},
	}
}

// answeredRollout is askedRollout for an answer. It is refused if the rollout has a newer revision than the person saw.
func (s *Server) answeredRollout(ctx context.Context, v *visit, verb string) (index.Rollout, operate.Rollout, error) {
	one, steer, err := s.askedRollout(ctx, v, verb)
	if err != nil {
		return one, steer, err
	}
	if steer.Seen, err = strconv.ParseInt(v.request.PostForm.Get(seenField), 10, 64); err != nil || steer.Seen < 1 {
		return one, steer, badRequestError{"The form does not say which revision you looked at: load the page again."}
	}
	return one, steer, nil
}

// refused turns a refused operation into an error of the request rather than of the hub.
func refused(err error) error {
	if refusal, ok := operate.RefusalOf(err); ok {
		return badRequestError{strings.ToUpper(refusal[:1]) + refusal[1:] + "."}
	}
	return err
}

func (s *Server) askPause(pause bool) func(ctx context.Context, v *visit) (*question, error) {
	return func(ctx context.Context, v *visit) (*question, error) {
		one, _, err := s.askedRollout(ctx, v, "patch")
		if err != nil {
			return nil, err
		}
		if !pause {
			q := rolloutQuestion(one, "Resume")
			q.Text = "The rollout goes on from where it was."
			return q, nil
		}
		q := rolloutQuestion(one, "Pause")
		q.Text = "No further cluster is sent a revision until you resume it."
		q.Points = []string{"What was sent stays.", "Clusters that return wait, too."}
		return q, nil
	}
}

func (s *Server) doPause(pause bool) func(ctx context.Context, v *visit) (string, string, error) {
	return func(ctx context.Context, v *visit) (string, string, error) {
		one, steer, err := s.askedRollout(ctx, v, "patch")
		if err != nil {
			return "", "", err
		}
		if _, err := steer.Pause(ctx, pause); err != nil {
			return "", "", refused(err)
		}
		notice := "The rollout of " + one.App.Name + " goes on."
		if pause {
			notice = "The rollout of " + one.App.Name + " is paused."
		}
		return notice, rolloutPath(one.App.Namespace, one.App.Binding), nil
	}
}

func (s *Server) askApproveWave(ctx context.Context, v *visit) (*question, error) {
	one, _, err := s.askedRollout(ctx, v, "approve")
	if err != nil {
		return nil, err
	}
	status := one.Object.RolloutStatus()
	wave := rollouts.WaitsForApproval(status)
	if wave == "" {
		return nil, badRequestError{"No wave waits for approval any more."}
	}
	r := rollouts.Of(one.Object, one.App.Template, v.now)
	q := rolloutQuestion(one, "Approve")
	q.Title = fmt.Sprintf("Approve wave %s of r%d of %s?", wave, status.Revision, one.App.Name)
	q.Text = "The rollout goes on once this is approved."
	q.Points = []string{r.Line}
	q.Fields["wave"] = wave
	return q, nil
}

func (s *Server) doApproveWave(ctx context.Context, v *visit) (string, string, error) {
	one, steer, err := s.answeredRollout(ctx, v, "approve")
	if err != nil {
		return "", "", err
	}
	approved, _, err := steer.Approve(ctx, v.request.PostForm.Get("wave"))
	if err != nil {
		return "", "", refused(err)
	}
	return fmt.Sprintf("Wave %s of r%d is approved.", approved.Wave, approved.Revision), rolloutPath(one.App.Namespace, one.App.Binding), nil
}

// revisionAsked returns the revision in the query; 0 if there is none.
func revisionAsked(v *visit) (int64, error) {
	text := v.text("to")
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return 0, badRequestError{"There is no revision with that number."}
	}
	return n, nil
}

func (s *Server) askUndo(ctx context.Context, v *visit) (*question, error) {
	one, _, err := s.askedRollout(ctx, v, "patch")
	if err != nil {
		return nil, err
	}
	to, err := revisionAsked(v)
	if err != nil {
		return nil, err
	}
	number, err := operate.OlderRevision(one.Object.RolloutStatus(), to)
	if err != nil {
		return nil, refused(err)
	}
	q := rolloutQuestion(one, "Undo")
	q.Title, q.Danger = fmt.Sprintf("Go back to r%d of %s?", number, one.App.Name), true
	q.Text = fmt.Sprintf("A new revision with the content of r%d is made and goes out in waves.", number)
	q.Points = []string{
		"The template stays as its author wrote it; its next edit goes out as a new revision.",
		"If a wave needs approval, it goes to all clusters at once only if its content has passed every wave before.",
	}
	q.Options = []option{{Name: "now", Text: "Go back in all clusters at once, without waves."}}
	q.Fields["revision"] = strconv.FormatInt(number, 10)
	return q, nil
}

func (s *Server) doUndo(ctx context.Context, v *visit) (string, string, error) {
	one, steer, err := s.answeredRollout(ctx, v, "patch")
	if err != nil {
		return "", "", err
	}
	to, err := strconv.ParseInt(v.request.PostForm.Get("revision"), 10, 64)
	if err != nil || to < 1 {
		return "", "", badRequestError{"The form names no revision to go back to."}
	}
	target, err := steer.Undo(ctx, to, v.request.PostForm.Get("now") == "yes")
	if err != nil {
		return "", "", refused(err)
	}
	return fmt.Sprintf("%s goes back from r%d to the content of r%d.", one.App.Name, target.Over, target.Revision), rolloutPath(one.App.Namespace, one.App.Binding), nil
}

func (s *Server) askAbort(ctx context.Context, v *visit) (*question, error) {
	one, _, err := s.askedRollout(ctx, v, "patch")
	if err != nil {
		return nil, err
	}
	status := one.Object.RolloutStatus()
	q := rolloutQuestion(one, "Abort")
	q.Title, q.Danger = fmt.Sprintf("Abort r%d of %s?", status.Revision, one.App.Name), true
	q.Text = fmt.Sprintf("Clusters that it was sent to go back at once to the content of the stable revision, r%d.", status.Stable)
	q.Points = []string{"The template stays as its author wrote it; its next edit goes out as a new revision."}
	return q, nil
}

func (s *Server) doAbort(ctx context.Context, v *visit) (string, string, error) {
	one, steer, err := s.answeredRollout(ctx, v, "patch")
	if err != nil {
		return "", "", err
	}
	target, err := steer.Abort(ctx)
	if err != nil {
		return "", "", refused(err)
	}
	return fmt.Sprintf("r%d is aborted; its clusters go back to the content of r%d.", target.Over, target.Revision), rolloutPath(one.App.Namespace, one.App.Binding), nil
}

func (s *Server) askRetry(ctx context.Context, v *visit) (*question, error) {
	one, _, err := s.askedRollout(ctx, v, "patch")
	if err != nil {
		return nil, err
	}
	q := rolloutQuestion(one, "Retry")
	q.Text = "Clusters that failed get their full time again, as if they had been sent the revision just now."
	if rollouts.FailedNoMore(one.Object.RolloutStatus()) {
		q.Text = "The clusters that failed are healthy now: the rollout goes on."
	}
	for _, g := range rollouts.Of(one.Object, one.App.Template, v.now).Groups {
		if g.State == fairleadv1alpha1.ClusterFailed {
			q.Points = append(q.Points, g.Names(mostPoints))
		}
	}
	return q, nil
}

// mostPoints is how many clusters a question lists.
const mostPoints = 20

func (s *Server) doRetry(ctx context.Context, v *visit) (string, string, error) {
	one, steer, err := s.answeredRollout(ctx, v, "patch")
	if err != nil {
		return "", "", err
	}
	clusters, err := steer.Retry(ctx, nil, s.clock.Now())
	if err != nil {
		return "", "", refused(err)
	}
	if len(clusters) == 0 {
		return "It goes on.", rolloutPath(one.App.Namespace, one.App.Binding), nil
	}
	return "The hub tries again in " + plural(len(clusters), "cluster") + ".", rolloutPath(one.App.Namespace, one.App.Binding), nil
}

func (s *Server) askSkip(ctx context.Context, v *visit) (*question, error) {
	one, _, err := s.askedRollout(ctx, v, "patch")
	if err != nil {
		return nil, err
	}
	name, status := v.text("cluster"), one.Object.RolloutStatus()
	if !slices.Contains(one.App.Clusters(), name) {
		return nil, notFoundError{"The application is not in a cluster of that name."}
	}
	q := rolloutQuestion(one, "Skip")
	q.Title = fmt.Sprintf("Leave %s out of r%d of %s?", name, status.Revision, one.App.Name)
	q.Text = "It keeps what it has until the next revision, and counts neither as failed nor as updated."
	q.Fields["cluster"] = name
	return q, nil
}

func (s *Server) doSkip(ctx context.Context, v *visit) (string, string, error) {
	one, steer, err := s.answeredRollout(ctx, v, "patch")
	if err != nil {
		return "", "", err
	}
	name := v.request.PostForm.Get("cluster")
	if _, err := steer.Skip(ctx, []string{name}, one.App.Clusters()); err != nil {
		return "", "", refused(err)
	}
	return fmt.Sprintf("%s keeps what it has until the next revision.", name), rolloutPath(one.App.Namespace, one.App.Binding), nil
}
