package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"fairlead.dev/hub/people/view/applications"
	"fairlead.dev/hub/people/view/tree"
)

func newTree(env Environment) *cobra.Command {
	var hub hubFlags
	var output outputFlag
	var namespace namespaceFlags
	cmd := &cobra.Command{
		Use:   "tree KIND/NAME",
		Short: "Show an object from its policy to the members, with the health at each step",
		Long: "Show the way of an object: the policy that has it, its binding, the Work for each cluster, and what the cluster says of\n" +
			"the object there.",
		Example: "  hub tree deployment/web -n shop",
		Args:    cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return printTree(cmd.Context(), env, &hub, &output, &namespace, args)
		},
	}
	hub.add(env, cmd)
	output.add(cmd)
	namespace.add(env, cmd, &hub, "object")
	cmd.ValidArgsFunction = completing(env, &hub, applicationNames(&namespace))
	return cmd
}

func printTree(ctx context.Context, env Environment, hub *hubFlags, output *outputFlag, namespace *namespaceFlags, args []string) error {
	if err := output.check(); err != nil {
		return err
	}
	o, err := hub.open(env)
	if err != nil {
		return err
	}
	ref, err := o.named(args, namespace)
	if err != nil {
		return err
	}
	root, err := o.Tree(ctx, ref)
	if err != nil {
		return err
	}
	if !output.text() {
		return output.encode(env, root)
	}
	paint := func(s applications.State) string {
		if !env.Color {
			return string(s)
		}
		return toneOf(s).Paint(string(s))
	}
	if err := tree.Write(env.Out, root, paint); err != nil {
		return fmt.Errorf("printing the tree: %w", err)
	}
	return nil
}
