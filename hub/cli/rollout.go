package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/contract"
	"fairlead.dev/hub/cli/table"
	"fairlead.dev/hub/people/operate"
	"fairlead.dev/hub/people/view"
	"fairlead.dev/hub/people/view/rollouts"
)

func newRollout(env Environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rollout",
		Short: "Show and control how changes reach clusters in waves",
		Long: "A policy with the annotation " + contract.RolloutStrategyAnnotation + " has the changes of its objects go out in the waves of that\n" +
			"RolloutStrategy: a wave begins once the one before is healthy, and the rollout halts when too many clusters fail.\n" +
			"Clusters that are silent are set aside; they catch up when they return.",
		Example: "  hub rollout status deployment/web -n shop --watch\n  hub rollout approve deployment/web -n shop\n  hub rollout undo deployment/web -n shop",
	}
	cmd.AddCommand(newRolloutStatus(env), newRolloutHistory(env), newRolloutPlan(env),
		newRolloutPause(env, true), newRolloutPause(env, false), newRolloutApprove(env),
		newRolloutUndo(env), newRolloutAbort(env), newRolloutRetry(env), newRolloutSkip(env))
	group(cmd)
	return cmd
}

// rolloutFlags are the common flags of `hub rollout`.
type rolloutFlags struct {
	hub       hubFlags
	namespace namespaceFlags
}

func (f *rolloutFlags) add(env Environment, cmd *cobra.Command) {
	f.hub.add(env, cmd)
	f.namespace.add(env, cmd, &f.hub, "application")
	cmd.ValidArgsFunction = completing(env, &f.hub, rolloutNames(&f.namespace))
}

// find reads the rollout of the application in the first argument.
func (f *rolloutFlags) find(ctx context.Context, env Environment, args []string) (*opened, *view.Staged, error) {
	if _, _, err := objectArgument(args[:min(len(args), 1)], false); err != nil {
		return nil, nil, err // before contacting the hub
	}
	hub, err := f.hub.open(env)
	if err != nil {
		return nil, nil, err
	}
	ref, err := hub.named(args[:1], &f.namespace)
	if err != nil {
		return nil, nil, err
	}
	staged, err := hub.Staged(ctx, ref)
	if err != nil {
		return nil, nil, err
	}
	return hub, staged, nil
}

// steered returns the operations on a rollout, for the revision that was read.
func steered(hub *opened, s *view.Staged) operate.Rollout {
	return operate.Rollout{Hub: hub.client, FieldManager: contract.FieldManagerCLI, ObjectKey: client.ObjectKeyFromObject(s.Object), Seen: s.Revision}
}

// oneApplication accepts exactly one argument.
func oneApplication(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("name one application as KIND/NAME, such as deployment/web; see `%s --help`", cmd.CommandPath())
	}
	return nil
}

// anApplication requires an application as the first argument.
func anApplication(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("name the application as KIND/NAME, such as deployment/web; see `%s --help`", cmd.CommandPath())
	}
	return nil
}

func waveTable(waves []rollouts.Wave, now time.Time) *table.Table {
	t := &table.Table{Columns: []table.Column{
		{Name: "WAVE"},
		{Name: "SIZE"},
		{Name: "HEALTHY"},
		{Name: "IN-FLIGHT"},
		{Name: "FAILED"},
		{Name: "LOST"},
		{Name: "HELD"},
		{Name: "SET-ASIDE"},
		{Name: "SKIPPED"},
		{Name: "STATE"},
	}}
	number := func(n int32, tone table.Tone) table.Cell {
		if n == 0 {
			tone = table.Plain
		}
		return table.Cell{Text: fmt.Sprint(n), Tone: tone}
	}
	for _, w := range waves {
		t.Rows = append(t.Rows, []table.Cell{
			{Text: w.Name},
			number(w.Size, table.Plain), number(w.Healthy, table.Good), number(w.InFlight, table.Plain), number(w.Failed, table.Bad),
			number(w.Lost, table.Bad), number(w.Held, table.Plain), number(w.SetAside, table.Warn), number(w.Skipped, table.Plain),
			{Text: w.Progress(now)},
		})
	}
	return t
}
