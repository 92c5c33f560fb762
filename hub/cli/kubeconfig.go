package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/atomicfile"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/people/pods"
)

// kubeconfigFlags are the flags of `hub kubeconfig`.
type kubeconfigFlags struct {
	hub    hubFlags
	output string
	force  bool
}

func newKubeconfig(env Environment) *cobra.Command {
	var f kubeconfigFlags
	cmd := &cobra.Command{
		Use:   "kubeconfig CLUSTER...",
		Short: "Write a kubeconfig with which kubectl reaches into clusters, through the hub",
		Long: "Write a kubeconfig whose server is the hub's way into a cluster, over the line that its agent keeps open. The\n" +
			"credentials are your own, those of the kubeconfig that is in use: keep it as safe. Of several clusters each is a context\n" +
			"of its own, and the first is the current one. That a cluster is not connected now, or that its owner lets no operators\n" +
			"in, is said, and the kubeconfig is written all the same.",
		Example: "  hub kubeconfig edge-1 -o edge-1.kubeconfig\n  kubectl --kubeconfig edge-1.kubeconfig get pods -A\n  hub kubeconfig edge-1 edge-2 > edges.kubeconfig",
		Args:    someClusters,
		RunE:    func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), env, args) },
	}
	flags := cmd.Flags()
	f.hub.add(env, cmd)
	flags.StringVarP(&f.output, "output", "o", stdio, "file to write, readable by you only; - is the standard output")
	flags.BoolVar(&f.force, "force", false, "replace the file if there is one")
	cmd.ValidArgsFunction = completing(env, &f.hub, clusterNames)
	return cmd
}

func (f *kubeconfigFlags) run(ctx context.Context, env Environment, names []string) error {
	k, err := f.hub.find(env)
	if err != nil {
		return err
	}
	k.warn(env)
	own, err := k.alone()
	if err != nil {
		return err
	}
	cfg, err := k.config()
	if err != nil {
		return err
	}
	hubClient, err := clientOf(kube.BoundDepth(cfg))
	if err != nil {
		return err
	}
	members, err := pods.NewMembers(cfg)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := exists(ctx, hubClient, name); err != nil {
			return err
		}
		if warning := members.LineState(ctx, name).Warning(name); warning != "" {
			say(env.Err, "Warning: %s", warning)
		}
	}
	content, err := clientcmd.Write(*through(own, names))
	if err != nil {
		return fmt.Errorf("encoding the kubeconfig: %w", err)
	}
	if f.output == stdio {
		if _, err := env.exact.Write(content); err != nil {
			return fmt.Errorf("printing the kubeconfig: %w", err)
		}
		return nil
	}
	if _, err := os.Stat(f.output); !f.force && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is a file %s already; name another, or replace it with --force", f.output)
	}
	if err := atomicfile.Write(f.output, content); err != nil {
		return fmt.Errorf("writing the kubeconfig: %w", err)
	}
	say(env.Err, "Wrote %s; try `kubectl --kubeconfig %s get namespaces`", f.output, f.output)
	return nil
}

// exists returns an error for a cluster that the hub does not have. If the person may not read clusters, any name is
// accepted.
func exists(ctx context.Context, hubClient client.Client, name string) error {
	err := hubClient.Get(ctx, client.ObjectKey{Name: name}, &clusterv1alpha1.Cluster{})
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("there is no cluster %s on the hub; `hub clusters` lists them", name)
	case err != nil && !apierrors.IsForbidden(err):
		return fmt.Errorf("reading cluster %s: %w", name, err)
	}
	return nil
}

// alone returns the content of its files with all referenced files embedded, reduced to what its context needs.
func (k kubeconfig) alone() (*clientcmdapi.Config, error) {
	own, err := k.raw()
	if err != nil {
		return nil, err
	}
	if err := clientcmdapi.MinifyConfig(own); err != nil {
		return nil, fmt.Errorf("the kubeconfig cannot be used: %w", err)
	}
	if err := clientcmdapi.FlattenConfig(own); err != nil {
		return nil, fmt.Errorf("reading the files that the kubeconfig names: %w", err)
	}
	return own, nil
}

// through returns a copy of a hub's kubeconfig with a server for each of the clusters, reached through the hub.
func through(own *clientcmdapi.Config, clusters []string) *clientcmdapi.Config {
	current := own.Contexts[own.CurrentContext]
	out := clientcmdapi.NewConfig()
	out.CurrentContext = clusters[0]
	out.AuthInfos[current.AuthInfo] = own.AuthInfos[current.AuthInfo]
	for _, name := range clusters {
		server := own.Clusters[current.Cluster].DeepCopy()
		server.Server = pods.Server(server.Server, name)
		out.Clusters[name] = server
		there := current.DeepCopy()
		there.Cluster = name
		out.Contexts[name] = there
	}
	return out
}
