package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"fairlead.dev/common/bindings"
	"fairlead.dev/hub/people/view/rollouts"
)

func newRolloutPause(env Environment, pause bool) *cobra.Command {
	var f rolloutFlags
	cmd := &cobra.Command{
		Use:     "pause KIND/NAME",
		Short:   "Pause a rollout: send its revision to no further cluster",
		Long:    "Pause the rollout of an application: no further cluster is sent a revision, and clusters that return wait, too. Clusters keep what they have.",
		Example: "  hub rollout pause deployment/web -n shop",
		Args:    oneApplication,
	}
	if !pause {
		cmd.Use, cmd.Short = "resume KIND/NAME", "Resume a paused rollout"
		cmd.Long, cmd.Example = "Resume a rollout after `hub rollout pause`, from where it was.", "  hub rollout resume deployment/web -n shop"
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		hub, s, err := f.find(cmd.Context(), env, args)
		if err != nil {
			return err
		}
		changed, err := steered(hub, s).Pause(cmd.Context(), pause)
		if err != nil {
			return err
		}
		said := "goes on"
		if pause {
			said = fmt.Sprintf("is paused: r%d is sent to no further cluster; `%s` resumes it", s.Revision, rollouts.Command("resume", s.Template))
		}
		if !changed {
			said += " (as before)"
		}
		say(env.Out, "%s %s", s.Named(), said)
		return nil
	}
	f.add(env, cmd)
	return cmd
}

func newRolloutApprove(env Environment) *cobra.Command {
	var f rolloutFlags
	var wave string
	var revision int64
	cmd := &cobra.Command{
		Use:   "approve KIND/NAME",
		Short: "Approve the wave that waits for it",
		Long: "Approve a wave of the newest revision whose strategy asks for that, before it begins or after it is well. With --revision it is\n" +
			"approved only if no other revision came since that one was looked at. This needs the verb approve on stagedrollouts of the\n" +
			"group fairlead.dev, beside patch.",
		Example: "  hub rollout approve deployment/web -n shop --revision 5\n  hub rollout approve deployment/web -n shop --wave rest",
		Args:    oneApplication,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("revision") && revision < 1 {
				return fmt.Errorf("--revision %d is not a revision; `hub rollout history` lists the revisions", revision)
			}
			hub, s, err := f.find(cmd.Context(), env, args)
			if err != nil {
				return err
			}
			steer := steered(hub, s)
			if revision > 0 {
				steer.Seen = revision
			}
			if wave == "" {
				wave = rollouts.WaitsForApproval(s.Object.RolloutStatus())
			}
			approved, changed, err := steer.Approve(cmd.Context(), wave)
			if err != nil {
				return fmt.Errorf("%w; `%s` shows its progress", err, rollouts.Command("status", s.Template))
			}
			said := fmt.Sprintf("%s: wave %s of r%d is approved", s.Named(), approved.Wave, approved.Revision)
			if !changed {
				said += " (as before)"
			}
			say(env.Out, "%s", said)
			return nil
		},
	}
	f.add(env, cmd)
	cmd.Flags().Int64Var(&revision, "revision", 0, "the revision that you looked at: if it is not the newest, nothing is approved (default: the newest)")
	cmd.Flags().StringVar(&wave, "wave", "", "the wave (default: the one that waits for approval)")
	return cmd
}

func newRolloutUndo(env Environment) *cobra.Command {
	var f rolloutFlags
	var to int64
	var now bool
	cmd := &cobra.Command{
		Use:   "undo KIND/NAME",
		Short: "Go back to an older revision",
		Long: "Make a new revision with the content of an older one, and send it out in waves, or with --now to all clusters at once. While a\n" +
			"revision is on its way that is the stable one, else the one before. What was rolled back or aborted is not gone back to unless\n" +
			"it is named. The template stays as its author wrote it; its next edit goes out as a new revision.",
		Example: "  hub rollout undo deployment/web -n shop\n  hub rollout undo deployment/web --to-revision 3 --now",
		Args:    oneApplication,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("to-revision") && to < 1 {
				return fmt.Errorf("--to-revision %d is not a revision; `hub rollout history` lists the revisions", to)
			}
			hub, s, err := f.find(cmd.Context(), env, args)
			if err != nil {
				return err
			}
			target, err := steered(hub, s).Undo(cmd.Context(), to, now)
			if err != nil {
				return fmt.Errorf("%w; `%s` shows the revisions", err, rollouts.Command("history", s.Template))
			}
			how := "in waves"
			if now {
				how = "to all clusters at once"
			}
			say(env.Out, "%s goes back from r%d to the content of r%d, %s; the template stays as it is", s.Named(), target.Over, target.Revision, how)
			if s.Paused {
				say(env.Err, "It is paused: `%s` resumes it", rollouts.Command("resume", s.Template))
			}
			return nil
		},
	}
	f.add(env, cmd)
	cmd.Flags().Int64Var(&to, "to-revision", 0, "the revision to go back to (default: the stable one while another is on its way, else the one before)")
	cmd.Flags().BoolVar(&now, "now", false, "in all clusters at once instead of in waves; content that never passed all waves still goes in waves if some need approval")
	return cmd
}

func newRolloutAbort(env Environment) *cobra.Command {
	var f rolloutFlags
	cmd := &cobra.Command{
		Use:   "abort KIND/NAME",
		Short: "Abort the newest revision: go back at once in the clusters that have it",
		Long: "Go back to the stable revision in all clusters at once. The template stays as its author wrote it; the next edit of it goes\n" +
			"out as a revision of its own.",
		Example: "  hub rollout abort deployment/web -n shop",
		Args:    oneApplication,
		RunE: func(cmd *cobra.Command, args []string) error {
			hub, s, err := f.find(cmd.Context(), env, args)
			if err != nil {
				return err
			}
			target, err := steered(hub, s).Abort(cmd.Context())
			if err != nil {
				return fmt.Errorf("%w; `%s` shows its progress", err, rollouts.Command("status", s.Template))
			}
			say(env.Out, "%s: r%d is aborted: the clusters that have it go back at once to the content of r%d; the template stays as it is", s.Named(), target.Over, target.Revision)
			if s.Paused {
				say(env.Err, "It is paused: `%s` resumes it", rollouts.Command("resume", s.Template))
			}
			return nil
		},
	}
	f.add(env, cmd)
	return cmd
}

func newRolloutRetry(env Environment) *cobra.Command {
	var f rolloutFlags
	cmd := &cobra.Command{
		Use:   "retry KIND/NAME [CLUSTER...]",
		Short: "Retry clusters that failed",
		Long: "Give clusters that failed with the newest revision their full time again, all of them if none is named. Those that `hub rollout\n" +
			"skip` left out take part again. If all of them are healthy now, a rollout that was halted because of them goes on.",
		Example: "  hub rollout retry deployment/web -n shop\n  hub rollout retry deployment/web -n shop edge-4",
		Args:    anApplication,
		RunE: func(cmd *cobra.Command, args []string) error {
			hub, s, err := f.find(cmd.Context(), env, args)
			if err != nil {
				return err
			}
			clusters, err := steered(hub, s).Retry(cmd.Context(), args[1:], env.Clock.Now())
			if err != nil {
				return fmt.Errorf("%w; `%s --clusters` shows the status of each", err, rollouts.Command("status", s.Template))
			}
			if len(clusters) == 0 {
				say(env.Out, "%s: r%d goes on, since the clusters that failed are healthy now", s.Named(), s.Revision)
				return nil
			}
			say(env.Out, "%s: r%d is tried again in %s", s.Named(), s.Revision, strings.Join(clusters, ", "))
			return nil
		},
	}
	f.add(env, cmd)
	cmd.ValidArgsFunction = completing(env, &f.hub, thenClusters(rolloutNames(&f.namespace)))
	return cmd
}

func newRolloutSkip(env Environment) *cobra.Command {
	var f rolloutFlags
	cmd := &cobra.Command{
		Use:   "skip KIND/NAME CLUSTER...",
		Short: "Leave clusters out of the newest revision",
		Long: "Let clusters keep what they have until the next revision. They count neither as failed nor as updated. `hub rollout retry`\n" +
			"lets them take part again.",
		Example: "  hub rollout skip deployment/web -n shop edge-4",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return fmt.Errorf("name the application and at least one cluster; see `%s --help`", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			hub, s, err := f.find(cmd.Context(), env, args)
			if err != nil {
				return err
			}
			var targets []string
			for _, t := range bindings.Targets(s.Of.BindingSpec()) {
				targets = append(targets, t.Name)
			}
			changed, err := steered(hub, s).Skip(cmd.Context(), args[1:], targets)
			if err != nil {
				return fmt.Errorf("%w; `%s --clusters` shows them", err, rollouts.Command("status", s.Template))
			}
			said := fmt.Sprintf("%s: r%d leaves out %s", s.Named(), s.Revision, strings.Join(args[1:], ", "))
			if !changed {
				said += " (as before)"
			}
			say(env.Out, "%s", said)
			return nil
		},
	}
	f.add(env, cmd)
	cmd.ValidArgsFunction = completing(env, &f.hub, thenClusters(rolloutNames(&f.namespace)))
	return cmd
}
