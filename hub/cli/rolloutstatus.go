package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/hub/cli/table"
	"fairlead.dev/hub/people/view"
	"fairlead.dev/hub/people/view/rollouts"
)

// mostNamed is how many clusters of a group are listed by name.
const mostNamed = 10

// rolloutStatusFlags are the flags of `hub rollout status`.
type rolloutStatusFlags struct {
	rolloutFlags
	output   outputFlag
	clusters bool
	watch    bool
	caughtUp bool
	timeout  time.Duration
}

func newRolloutStatus(env Environment) *cobra.Command {
	var f rolloutStatusFlags
	cmd := &cobra.Command{
		Use:   "status [KIND/NAME]",
		Short: "Show how far a rollout is, and what it waits for",
		Long: "Show the newest revision of an application, wave by wave, and which clusters are not simply healthy. Without an\n" +
			"application all rollouts of the namespace are shown, a line each, or with -A those of all.\n\n" +
			"Of one application it ends with status 0 if the revision has passed every wave, with 4 if the rollout is halted, with\n" +
			"2 if it is not over yet, and with 3 if --watch ran out of time. Clusters that are set aside keep no rollout from being\n" +
			"over; with --caught-up they do. While it watches, a hub that is away is asked again, until --timeout or for a minute.",
		Example: "  hub rollout status -A\n  hub rollout status deployment/web -n shop\n  hub rollout status deployment/web --clusters\n" +
			"  hub rollout status deployment/web --watch --timeout 30m",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), env, args) },
	}
	f.add(env, cmd)
	f.namespace.addAll(cmd)
	f.output.add(cmd)
	fs := cmd.Flags()
	fs.BoolVar(&f.clusters, "clusters", false, "show each cluster: which revision it has, which it is to have, and why")
	fs.BoolVarP(&f.watch, "watch", "w", false, "print changes until the rollout is over or halted")
	fs.BoolVar(&f.caughtUp, "caught-up", false, "count it as over only when no cluster is behind")
	fs.DurationVar(&f.timeout, "timeout", 0, "how long to watch (default: for ever)")
	return cmd
}

func (f *rolloutStatusFlags) run(ctx context.Context, env Environment, args []string) error {
	switch err := f.output.check(); {
	case err != nil:
		return err
	case f.timeout < 0:
		return fmt.Errorf("--timeout %s is not positive", f.timeout)
	case f.timeout > 0 && !f.watch:
		return errors.New("--timeout needs --watch")
	case len(args) == 0 && (f.watch || f.clusters || f.caughtUp):
		return errors.New("name the application as KIND/NAME, such as deployment/web, for --watch, --clusters and --caught-up")
	case f.watch && (f.clusters || !f.output.text()):
		return errors.New("--watch shows lines for people: leave --clusters and --output out")
	case len(args) == 0:
		return f.all(ctx, env)
	}
	hub, s, err := f.find(ctx, env, args)
	if err != nil {
		return err
	}
	if f.watch {
		return f.follow(ctx, env, hub, s, args)
	}
	if err := f.show(ctx, env, hub, s); err != nil {
		return err
	}
	return f.verdict(s)
}

// verdict returns an error unless the rollout is over.
func (f *rolloutStatusFlags) verdict(s *view.Staged) error {
	switch {
	case f.over(s):
		return nil
	case s.Halted:
		return &statusError{ExitHalted, fmt.Sprintf("the rollout of %s is halted at r%d", s.Template, s.Revision)}
	case s.Done:
		return &statusError{ExitNo, fmt.Sprintf("r%d of %s has passed every wave, and clusters are behind", s.Revision, s.Template)}
	default:
		return &statusError{ExitNo, fmt.Sprintf("the rollout of %s is not over yet", s.Template)}
	}
}

func (f *rolloutStatusFlags) over(s *view.Staged) bool {
	return s.Done && (s.CaughtUp || !f.caughtUp)
}

// reallyOver says whether the rollout is over, and there is no newer edit without a revision yet.
func (f *rolloutStatusFlags) reallyOver(ctx context.Context, hub *opened, s *view.Staged) (bool, error) {
	if !f.over(s) {
		return false, nil
	}
	edited, err := hub.Edited(ctx, s)
	return !edited, err
}

// all prints a line for every rollout.
func (f *rolloutStatusFlags) all(ctx context.Context, env Environment) error {
	hub, err := f.hub.open(env)
	if err != nil {
		return err
	}
	scope := f.namespace.scope(hub)
	all, err := hub.AllStaged(ctx, scope)
	if err != nil {
		return inOne(scope, err)
	}
	if len(all) == 0 && f.output.text() {
		where := ""
		if scope.Namespace != "" {
			where = fmt.Sprintf(" in namespace %s (`hub rollout status -A` looks in all)", scope.Namespace)
		}
		say(env.Err, "No application goes out in waves%s: give a policy the annotation fairlead.dev/rollout-strategy with the name of a RolloutStrategy", where)
		return nil
	}
	t := &table.Table{Columns: []table.Column{{Name: "NAMESPACE"}, {Name: "PHASE"}, {Name: "CAUGHT-UP"}, {Name: "STRATEGY", Wide: true}, {Name: "ROLLOUT"}}}
	for i := range all {
		s := &all[i]
		t.Rows = append(t.Rows, []table.Cell{
			{Text: s.Namespace}, {Text: string(s.Phase), Tone: toneOfPhase(s.Phase)}, {Text: yesNo(s.CaughtUp)}, {Text: s.Strategy}, {Text: s.Line},
		})
	}
	return f.output.print(env, listOf(all), t)
}

func yesNo(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}

// toneOfPhase returns the tone of a rollout's phase.
func toneOfPhase(p fairleadv1alpha1.RolloutPhase) table.Tone {
	switch p {
	case fairleadv1alpha1.RolloutCompleted:
		return table.Good
	case fairleadv1alpha1.RolloutHalted:
		return table.Bad
	case fairleadv1alpha1.RolloutWaiting, fairleadv1alpha1.RolloutPaused:
		return table.Warn
	default:
		return table.Plain
	}
}

// show prints one rollout.
func (f *rolloutStatusFlags) show(ctx context.Context, env Environment, hub *opened, s *view.Staged) error {
	var clusters []rollouts.Cluster
	if f.clusters {
		var err error
		if clusters, err = hub.StagedClusters(ctx, s); err != nil {
			say(env.Err, "Which revision each cluster has is not known: %v", advise(err))
		}
	}
	if !f.output.text() {
		return f.output.encode(env, struct {
			*view.Staged
			Clusters []rollouts.Cluster `json:"clusters,omitempty"`
		}{s, clusters})
	}
	say(env.Out, "%s\n", s.Line)
	if f.clusters {
		return f.output.print(env, nil, rolloutClusterTable(clusters, env.Clock.Now()))
	}
	if len(s.Waves) > 0 {
		if err := f.output.print(env, nil, waveTable(s.Waves, env.Clock.Now())); err != nil {
			return err
		}
	}
	f.sentences(env, s)
	return nil
}

// sentences prints what the table of waves does not show.
func (f *rolloutStatusFlags) sentences(env Environment, s *view.Staged) {
	var out []string
	for _, g := range s.Groups {
		if g.State == fairleadv1alpha1.ClusterHealthy || g.State == fairleadv1alpha1.ClusterHeld {
			continue
		}
		line := rollouts.StateText(g.State)
		if g.Wanted > 0 {
			line += fmt.Sprintf(" with r%d", g.Wanted)
		}
		if g.Reason != "" {
			line += " (" + g.Reason + ")"
		}
		out = append(out, fmt.Sprintf("%s: %s", line, g.Names(mostNamed)))
	}
	for _, sentence := range []string{s.Waits, s.Behind} {
		if sentence != "" {
			out = append(out, sentence)
		}
	}
	if s.Next != "" {
		out = append(out, "Next: "+s.Next)
	}
	if len(out) > 0 {
		say(env.Out, "\n%s", strings.Join(out, "\n"))
	}
}

func rolloutClusterTable(clusters []rollouts.Cluster, now time.Time) *table.Table {
	t := &table.Table{Columns: []table.Column{{Name: "CLUSTER"}, {Name: "STATE"}, {Name: "HAS"}, {Name: "SINCE"}, {Name: "IS-TO-HAVE"}, {Name: "WHY"}}}
	number := func(n int64) string {
		if n == 0 {
			return ""
		}
		return fmt.Sprintf("r%d", n)
	}
	for _, c := range clusters {
		var at time.Time
		if c.Since != nil {
			at = *c.Since
		}
		t.Rows = append(t.Rows, []table.Cell{
			{Text: c.Name},
			{Text: rollouts.StateText(c.State), Tone: toneOfRolloutState(c.State)},
			{Text: number(c.Has)},
			{Text: since(now, at)},
			{Text: number(c.Wanted)},
			{Text: c.Why},
		})
	}
	return t
}

// toneOfRolloutState returns the tone of a cluster's state in a rollout.
func toneOfRolloutState(s fairleadv1alpha1.ClusterState) table.Tone {
	switch s {
	case fairleadv1alpha1.ClusterHealthy, rollouts.ClusterStable:
		return table.Good
	case fairleadv1alpha1.ClusterFailed, fairleadv1alpha1.ClusterLost:
		return table.Bad
	case fairleadv1alpha1.ClusterSetAside, fairleadv1alpha1.ClusterReturning, fairleadv1alpha1.ClusterCatchingUp:
		return table.Warn
	default:
		return table.Plain
	}
}
