package cli

import (
	"context"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	corev1 "k8s.io/api/core/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/people/operate"
)

// completionTimeout bounds how long a shell waits for suggestions.
const completionTimeout = 3 * time.Second

// typed is the command line so far: the complete arguments, and the word to complete.
type typed struct {
	args []string
	word string
}

// suggester reads candidates from the hub. Those that do not start with the word are dropped later.
type suggester func(ctx context.Context, o *opened, t typed) ([]string, error)

// completing returns a completion function that asks the hub, and suggests nothing if the hub does not respond in time.
func completing(env Environment, hub *hubFlags, suggest suggester) cobra.CompletionFunc {
	env.Err = io.Discard // it would appear in the line that the person types
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		o, err := hub.open(env)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
		defer cancel()
		all, err := suggest(ctx, o, typed{args, word})
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return beginning(all, word), cobra.ShellCompDirectiveNoFileComp
	}
}

// beginning returns the candidates that start with a word.
func beginning(all []string, word string) []string {
	var out []string
	for _, s := range all {
		if strings.HasPrefix(s, word) {
			out = append(out, s)
		}
	}
	return out
}

// completeFlag sets the completion function of a flag.
func completeFlag(cmd *cobra.Command, flag string, by cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, by); err != nil {
		panic(err) // cannot happen: the flag belongs to the command
	}
}

// files completes names of files.
func files(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}

// directories completes names of directories.
func directories(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// completeDirectories completes names of directories for flags.
func completeDirectories(cmd *cobra.Command, flags ...string) {
	for _, flag := range flags {
		completeFlag(cmd, flag, directories)
	}
}

// contexts completes the contexts of the kubeconfig in use, without asking a server.
func (f *hubFlags) contexts(env Environment) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		meant := *f
		meant.context = "" // it is incomplete
		k, err := meant.find(env)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		raw, err := k.raw()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return beginning(slices.Sorted(maps.Keys(raw.Contexts)), word), cobra.ShellCompDirectiveNoFileComp
	}
}

// clusterNames suggests clusters that are not on the command line yet.
func clusterNames(ctx context.Context, o *opened, t typed) ([]string, error) {
	names, err := o.ClusterNames(ctx)
	return without(names, t.args), err
}

// oneOf suggests candidates for the first argument only.
func oneOf(suggest suggester) suggester {
	return func(ctx context.Context, o *opened, t typed) ([]string, error) {
		if len(t.args) > 0 {
			return nil, nil
		}
		return suggest(ctx, o, t)
	}
}

func without(all, left []string) []string {
	return slices.DeleteFunc(all, func(s string) bool { return slices.Contains(left, s) })
}

// askingNames suggests members that wait for an operator.
func askingNames(ctx context.Context, o *opened, t typed) ([]string, error) {
	waiting, err := operate.WaitingJoins(ctx, o.client)
	var out []string
	for _, asked := range waiting {
		out = append(out, asked.Cluster)
	}
	slices.Sort(out)
	return without(slices.Compact(out), t.args), err
}

// forgottenNames suggests names that are reserved for forgotten clusters.
func forgottenNames(ctx context.Context, o *opened, _ typed) ([]string, error) {
	var kept corev1.ConfigMapList
	err := o.client.List(ctx, &kept, client.InNamespace(contract.ClusterNamespace))
	var out []string
	for i := range kept.Items {
		if name, is := strings.CutPrefix(kept.Items[i].Name, contract.RetiredName("")); is {
			out = append(out, name)
		}
	}
	return out, err
}

// tokenIDs suggests join tokens.
func tokenIDs(ctx context.Context, o *opened, t typed) ([]string, error) {
	tokens, err := listTokens(ctx, o.client)
	var out []string
	for i := range tokens {
		out = append(out, tokens[i].ID)
	}
	return without(out, t.args), err
}

// namespaceNames suggests namespaces of the hub.
func namespaceNames(ctx context.Context, o *opened, _ typed) ([]string, error) {
	var all corev1.NamespaceList
	err := o.client.List(ctx, &all)
	var out []string
	for i := range all.Items {
		out = append(out, all.Items[i].Name)
	}
	return out, err
}

// strategyNames suggests RolloutStrategies.
func strategyNames(ctx context.Context, o *opened, _ typed) ([]string, error) {
	var all fairleadv1alpha1.RolloutStrategyList
	err := o.client.List(ctx, &all)
	var out []string
	for i := range all.Items {
		out = append(out, all.Items[i].Name)
	}
	return out, err
}
