package cli

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// completionTimeout bounds how long a shell waits for suggestions.
const completionTimeout = 3 * time.Second

// completing returns a completion function that asks the hub, and suggests nothing if the hub does not answer soon.
func completing(env Environment, hub *hubFlags, suggest func(ctx context.Context, o *opened) ([]string, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		o, err := hub.open(env)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
		defer cancel()
		all, err := suggest(ctx, o)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var out []string
		for _, s := range all {
			if strings.HasPrefix(s, typed) {
				out = append(out, s)
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}

// clusterNames suggests clusters.
func clusterNames(ctx context.Context, o *opened) ([]string, error) {
	names, err := o.ClusterNames(ctx)
	return names, err
}

// applicationNames suggests applications, as KIND/NAME.
func applicationNames(namespace *string) func(ctx context.Context, o *opened) ([]string, error) {
	return func(ctx context.Context, o *opened) ([]string, error) {
		apps, err := o.Applications(ctx, scopeOf(*namespace))
		var out []string
		for i := range apps {
			out = append(out, strings.ToLower(apps[i].Kind)+"/"+apps[i].Name)
		}
		return out, err
	}
}
