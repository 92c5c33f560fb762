package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"fairlead.dev/hub/people/migrate/kubefed"
)

func newMigrateKubeFed(env Environment) *cobra.Command {
	var f migrateFlags
	var hub hubFlags
	var o kubefed.Options
	var replicas string
	cmd := &cobra.Command{
		Use:   "kubefed -f FILE|DIRECTORY",
		Short: "Convert objects of KubeFed: templates, policies, and a token for each cluster",
		Long: "Convert objects of KubeFed into templates, override policies and propagation policies, in the order in which they are to\n" +
			"be applied, and commands that make a join token for each cluster. No hub is needed, but for --apply. What becomes of every field that\n" +
			"has no equivalent, and what is refused, is on the standard error.\n\n" +
			"With --replicas=freeze every cluster keeps the replicas that KubeFed gave it, so that nothing moves when KubeFed is\n" +
			"switched off; with weights they are divided by the weights, and it is told who gains and who loses.",
		Example: "  kubectl get -A -o yaml federatednamespaces,federateddeployments,replicaschedulingpreferences,kubefedclusters >kubefed.yaml\n" +
			"  hub migrate kubefed -f kubefed.yaml -o converted\n" +
			"  hub migrate kubefed -f manifests/ --replicas=weights --partial\n" +
			"  hub migrate kubefed -f kubefed.yaml --apply",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Replicas = kubefed.Replicas(replicas); o.Replicas != kubefed.Freeze && o.Replicas != kubefed.Weights {
				return fmt.Errorf("--replicas is %q; it must be %s or %s", replicas, kubefed.Freeze, kubefed.Weights)
			}
			documents, err := f.read()
			if err != nil {
				return err
			}
			return f.finish(cmd.Context(), env, hub, kubefed.Convert(documents, o))
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	f.add(fs, "objects of KubeFed")
	hub.addLocal(env, cmd)
	fs.StringVar(&replicas, "replicas", string(kubefed.Freeze), "freeze keeps the replicas of each cluster as KubeFed has divided them, weights divides them from scratch")
	fs.BoolVar(&o.Namespaced, "namespaced", false, "KubeFed's control plane is namespaced: FederatedNamespaces do not bound where objects are")
	fs.BoolVar(&o.Plain, "plain", false, "use nothing that other implementations of this API do not have: bounds of replicas are refused")
	completeDirectories(cmd, "output-dir")
	complete(cmd, "replicas", []string{string(kubefed.Freeze), string(kubefed.Weights)})
	return cmd
}
