package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"fairlead.dev/agent/registration"
)

func newJoin() *cobra.Command {
	var member memberFlags
	var join joinFlags
	cmd := &cobra.Command{
		Use:   "join HOST:PORT --token TOKEN --discovery-token-ca-cert-hash HASH --cluster-name NAME",
		Short: "Make this cluster known to a hub",
		Long: "Make this cluster known to a hub, with the command that `hub token create` printed there. It can be run again\n" +
			"if it was stopped half-way. Afterwards `agent run` does the work.",
		Args: oneHub,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("the address of the hub is missing; use the command that `hub token create` printed there")
			}
			config, err := member.config()
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			options, err := join.options(args[0], member, config, func(step string) { _, _ = fmt.Fprintln(out, step) })
			if err != nil {
				return err
			}
			if _, err := registration.Join(cmd.Context(), options); err != nil {
				return err
			}
			_, err = fmt.Fprintf(out, "Now run the agent, and keep it running:\n\n  agent run%s --state-dir %s\n", member.typed(), join.stateDir)
			return err
		},
	}
	member.add(cmd.Flags())
	join.add(cmd.Flags())
	return cmd
}

// oneHub accepts one argument at most.
func oneHub(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("unexpected argument %q; see `%s --help`", args[1], cmd.CommandPath())
	}
	return nil
}
