package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/contract"
	"fairlead.dev/hub/people/operate"
)

func newCordon(env Environment) *cobra.Command {
	var hub hubFlags
	var evict bool
	cmd := &cobra.Command{
		Use:   "cordon CLUSTER...",
		Short: "Cordon clusters: send nothing new to them",
		Long: "Taint clusters so that nothing new is sent there. What runs there stays, and is kept up to date; with --evict it is\n" +
			"moved elsewhere, as fast as the policies and the rate of evictions allow, unless it tolerates the taint.",
		Example: "  hub cordon edge-1\n  hub cordon edge-1 --evict",
		Args:    someClusters,
		RunE: func(cmd *cobra.Command, args []string) error {
			said := "is cordoned: nothing new is sent there"
			if evict {
				said += ", and what does not tolerate it is moved away"
			}
			return retaint(cmd.Context(), env, hub, args, said, func(ctx context.Context, c client.Client, name string) (bool, error) {
				return operate.Cordon(ctx, c, name, evict, contract.FieldManagerCLI)
			})
		},
	}
	hub.add(env, cmd)
	cmd.ValidArgsFunction = completing(env, &hub, clusterNames)
	cmd.Flags().BoolVar(&evict, "evict", false, "also move running applications away")
	return cmd
}

func newUncordon(env Environment) *cobra.Command {
	var hub hubFlags
	cmd := &cobra.Command{
		Use:     "uncordon CLUSTER...",
		Short:   "Uncordon clusters: send to them again",
		Long:    "Take back what `hub cordon` did: clusters are chosen again. What was moved away returns only if its policy says so.",
		Example: "  hub uncordon edge-1",
		Args:    someClusters,
		RunE: func(cmd *cobra.Command, args []string) error {
			return retaint(cmd.Context(), env, hub, args, "is not cordoned any more", func(ctx context.Context, c client.Client, name string) (bool, error) {
				return operate.Uncordon(ctx, c, name, contract.FieldManagerCLI)
			})
		},
	}
	hub.add(env, cmd)
	cmd.ValidArgsFunction = completing(env, &hub, clusterNames)
	return cmd
}

func someClusters(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("name at least one cluster; see `%s --help`", cmd.CommandPath())
	}
	return nil
}

// retaint changes the taints of each cluster, and prints those that changed.
func retaint(
	ctx context.Context, env Environment, hub hubFlags, names []string, said string, change func(context.Context, client.Client, string) (bool, error),
) error {
	hubClient, err := hub.connect(env)
	if err != nil {
		return err
	}
	var failed error
	for _, name := range names {
		changed, err := change(ctx, hubClient, name)
		switch {
		case err != nil:
			failed = errors.Join(failed, err)
		case changed:
			_, _ = fmt.Fprintf(env.Out, "cluster %s %s\n", name, said)
		default:
			_, _ = fmt.Fprintf(env.Out, "cluster %s %s (as before)\n", name, said)
		}
	}
	return failed
}
