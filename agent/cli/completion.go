package cli

import (
	"maps"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fairlead.dev/agent/registration"
	"fairlead.dev/common/logging"
)

// flagWords returns the values of flags that accept only a few.
func flagWords() map[string][]string {
	return map[string][]string{
		"events":     {eventsSummary, eventsAll},
		"log-format": {logging.FormatText, logging.FormatJSON},
		"objects":    {registration.Keep, registration.Remove},
		"on-retire":  {registration.Keep, registration.Remove},
		"output":     {outputText, outputJSON},
		"print":      {printSystemd, printManifests, printValues},
	}
}

// completeFlags registers shell completion for the flags of a command and its subcommands.
func completeFlags(cmd *cobra.Command) {
	words := flagWords()
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		complete := contexts
		if of, few := words[f.Name]; few {
			complete = cobra.FixedCompletions(of, cobra.ShellCompDirectiveNoFileComp)
		} else if f.Name != "context" {
			return
		}
		if err := cmd.RegisterFlagCompletionFunc(f.Name, complete); err != nil {
			panic(err) // the flag is the command's own
		}
	})
	for _, child := range cmd.Commands() {
		completeFlags(child)
	}
}

// contexts completes the contexts of this cluster's kubeconfig.
func contexts(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	path, err := cmd.Flags().GetString("kubeconfig")
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	raw, err := (&memberFlags{kubeconfig: path}).loader().RawConfig()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return slices.Sorted(maps.Keys(raw.Contexts)), cobra.ShellCompDirectiveNoFileComp
}

// operatorsBeginnings completes the prefixes of the argument of `agent operators`; the hub's users are not known
// here.
func operatorsBeginnings(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return []string{"off", "user:", "group:"}, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
