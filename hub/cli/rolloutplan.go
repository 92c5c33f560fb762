package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"sigs.k8s.io/yaml"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/hub/cli/table"
	"fairlead.dev/hub/people/view/rollouts"
)

// rolloutPlanFlags are the flags of `hub rollout plan`.
type rolloutPlanFlags struct {
	rolloutFlags
	output outputFlag
	file   string
}

func newRolloutPlan(env Environment) *cobra.Command {
	var f rolloutPlanFlags
	cmd := &cobra.Command{
		Use:   "plan KIND/NAME",
		Short: "Show in which waves a change would go out",
		Long: "Show the waves that a change of an application would go out in if it were made now, and which of their clusters are silent:\n" +
			"by the strategy that the application goes by, or by one in a file that is not on the hub. Nothing is touched.",
		Example: "  hub rollout plan deployment/web -n shop\n  hub rollout plan deployment/web -n shop -f strategy.yaml -o wide",
		Args:    oneApplication,
		RunE:    func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), env, args) },
	}
	f.add(env, cmd)
	f.output.add(cmd)
	cmd.Flags().StringVarP(&f.file, "filename", "f", "", "file with a RolloutStrategy; - is the standard input")
	return cmd
}

func (f *rolloutPlanFlags) run(ctx context.Context, env Environment, args []string) error {
	if err := f.output.check(); err != nil {
		return err
	}
	var strategy *fairleadv1alpha1.RolloutStrategySpec
	if f.file != "" {
		var err error
		if strategy, err = readStrategy(f.file); err != nil {
			return err
		}
	}
	if _, _, err := objectArgument(args, false); err != nil {
		return err
	}
	hub, err := f.hub.open(env)
	if err != nil {
		return err
	}
	ref, err := hub.named(args, &f.namespace)
	if err != nil {
		return err
	}
	waves, err := hub.Planned(ctx, ref, strategy)
	if err != nil {
		return err
	}
	return f.output.print(env, listOf(waves), f.table(waves))
}

// readStrategy reads the only RolloutStrategy in a file.
func readStrategy(file string) (*fairleadv1alpha1.RolloutStrategySpec, error) {
	var out *fairleadv1alpha1.RolloutStrategySpec
	err := eachDocument(file, func(kind string, document []byte) error {
		if kind != fairleadv1alpha1.KindRolloutStrategy {
			return nil
		}
		if out != nil {
			return fmt.Errorf("it holds more than one %s; one is wanted", kind)
		}
		strategy := &fairleadv1alpha1.RolloutStrategy{}
		if err := yaml.UnmarshalStrict(document, strategy); err != nil {
			return fmt.Errorf("the %s cannot be read: %w", kind, err)
		}
		out = &strategy.Spec
		return nil
	})
	if err == nil && out == nil {
		return nil, fmt.Errorf("reading %s: it holds no %s", file, fairleadv1alpha1.KindRolloutStrategy)
	}
	return out, err
}

func (f *rolloutPlanFlags) table(waves []rollouts.PlannedWave) *table.Table {
	t := &table.Table{Columns: []table.Column{
		{Name: "WAVE"},
		{Name: "CLUSTERS"},
		{Name: "SILENT"},
		{Name: "AT-ONCE"},
		{Name: "MUST-UPDATE"},
		{Name: "MAY-FAIL"},
		{Name: "SOAK"},
		{Name: "APPROVAL"},
		{Name: "NAMES", Cut: whyWidth},
		{Name: "REMARK"},
	}}
	for _, w := range waves {
		silent := table.Cell{Text: fmt.Sprint(len(w.Silent))}
		if len(w.Silent) > 0 {
			silent.Tone = table.Warn
		}
		t.Rows = append(t.Rows, []table.Cell{
			{Text: w.Name},
			{Text: fmt.Sprint(len(w.Clusters))},
			silent,
			{Text: fmt.Sprint(w.AtOnce)},
			{Text: fmt.Sprint(w.MustUpdate)},
			{Text: fmt.Sprint(w.MayFail)},
			{Text: w.Soak},
			{Text: w.Approval},
			{Text: strings.Join(w.Clusters, ", ")},
			{Text: w.Remark, Tone: table.Warn},
		})
	}
	return t
}
