package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"fairlead.dev/common/roots"
)

// hubFlags select the hub of an operator's command.
type hubFlags struct {
	kubeconfig, context, dataDir string
	// flags is the flag set that they were added to; nil if there is none.
	flags *pflag.FlagSet
	// local excludes the person's own kubeconfig, for commands that would do harm in the wrong cluster.
	local bool
}

// add adds the flags to a command.
func (f *hubFlags) add(env Environment, cmd *cobra.Command) { f.addTo(env, cmd, cmd.Flags()) }

// addPersistent adds the flags to a command and those below it.
func (f *hubFlags) addPersistent(env Environment, cmd *cobra.Command) {
	f.addTo(env, cmd, cmd.PersistentFlags())
}

func (f *hubFlags) addTo(env Environment, cmd *cobra.Command, flags *pflag.FlagSet) {
	f.addNamed(env, cmd, flags, "", "kubeconfig of the hub")
	flags.StringVar(&f.dataDir, "data-dir", defaultDataDir, "data directory of a hub on this machine")
	completeDirectories(cmd, "data-dir")
}

// addLocal adds the flags to a command that compares the hub with its own files, or fills it.
func (f *hubFlags) addLocal(env Environment, cmd *cobra.Command) {
	f.local = true
	f.add(env, cmd)
}

// addNamed adds the flags that select a kubeconfig, with a prefix to their names.
func (f *hubFlags) addNamed(env Environment, cmd *cobra.Command, flags *pflag.FlagSet, before, what string) {
	f.flags = flags
	after := ", or else admin.kubeconfig in the data directory, or else ~/.kube/config"
	if f.local {
		after = ", or else admin.kubeconfig in the data directory"
	}
	flags.StringVar(&f.kubeconfig, before+"kubeconfig", "", what+" (default: $KUBECONFIG"+after+")")
	flags.StringVar(&f.context, before+"context", "", "context in that kubeconfig (default: the current one)")
	completeFlag(cmd, before+"kubeconfig", files)
	completeFlag(cmd, before+"context", f.contexts(env))
}

// find returns the kubeconfig: the one of the flag, or else that of the environment, or else the one that a hub on this
// machine has written, or else, like kubectl, the person's own. On a hub's machine that hub takes precedence, whatever
// else its administrator works with there.
func (f hubFlags) find(env Environment) (kubeconfig, error) {
	if f.kubeconfig != "" {
		return kubeconfigFile(f.kubeconfig, f.context)
	}
	if list := env.Getenv(kubeconfigEnv); list != "" {
		return kubeconfig{
			rules:  &clientcmd.ClientConfigLoadingRules{Precedence: filepath.SplitList(list)},
			source: "$" + kubeconfigEnv + " (" + list + ")", context: f.context,
		}, nil
	}
	own := adminKubeconfig(f.dataDir)
	return f.choose(own, mayRead(own), f.home(env))
}

// choose chooses between the kubeconfig of a hub on this machine, which is unreadable if there is an error, and the
// person's own; home is empty if there is none.
func (f hubFlags) choose(own string, err error, home string) (kubeconfig, error) {
	switch {
	case err == nil:
		k, err := kubeconfigFile(own, f.context)
		k.warning = k.unlike(home)
		return k, err
	case home != "" && errors.Is(err, fs.ErrPermission):
		k, err := kubeconfigFile(home, f.context)
		k.warning = fmt.Sprintf("Using %s, because you may not read %s, of the hub on this machine. Name a kubeconfig with --kubeconfig to be sure.", home, own)
		return k, err
	case home != "" && errors.Is(err, fs.ErrNotExist):
		return kubeconfigFile(home, f.context)
	case errors.Is(err, fs.ErrPermission):
		return kubeconfig{}, fmt.Errorf("you may not read %s, of the hub on this machine: run the command as its user or as root, or name a kubeconfig of your own with --kubeconfig", own)
	case errors.Is(err, fs.ErrNotExist):
		return kubeconfig{}, fmt.Errorf("no hub was found on this machine, because there is no %s: start one with `hub serve`, or name its kubeconfig with --kubeconfig", own)
	}
	return kubeconfig{}, fmt.Errorf("reading the kubeconfig: %w", err)
}

// home returns the path of the person's own kubeconfig; empty if there is none, or it does not apply.
func (f hubFlags) home(env Environment) string {
	home := env.Getenv("HOME")
	if home == "" || f.local || f.flags != nil && f.flags.Changed("data-dir") {
		return ""
	}
	path := filepath.Join(home, clientcmd.RecommendedHomeDir, clientcmd.RecommendedFileName)
	if mayRead(path) != nil {
		return ""
	}
	return path
}

// mayRead returns the error of opening a file.
func mayRead(path string) error {
	file, err := os.Open(path) //nolint:gosec // the user names the file
	if err != nil {
		return err
	}
	return file.Close()
}

// kubeconfig is how to reach a hub.
type kubeconfig struct {
	rules *clientcmd.ClientConfigLoadingRules
	// source describes the kubeconfig for people, and context is the selected one; empty means the current one.
	source, context string
	// warning says that it may be another hub than the person expects; empty if not.
	warning string
}

// kubeconfigFile returns the kubeconfig in a file.
func kubeconfigFile(path, context string) (kubeconfig, error) {
	if _, err := os.Stat(path); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return kubeconfig{}, fmt.Errorf("there is no kubeconfig %s", path)
		}
		return kubeconfig{}, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	return kubeconfig{rules: &clientcmd.ClientConfigLoadingRules{ExplicitPath: path}, source: path, context: context}, nil
}

// config returns the client configuration.
func (k kubeconfig) config() (*rest.Config, error) {
	cfg, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(k.rules,
		&clientcmd.ConfigOverrides{CurrentContext: k.context, ClusterDefaults: clientcmdapi.Cluster{}}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s cannot be used: %w", k.source, err)
	}
	cfg.QPS = -1
	if cfg.CAFile == "" && len(cfg.CAData) == 0 && !cfg.Insecure {
		roots.Fallback() // the certificate may be from a public authority
	}
	return cfg, nil
}

// raw returns the content of its files, with the selected context as the current one.
func (k kubeconfig) raw() (*clientcmdapi.Config, error) {
	raw, err := k.rules.Load()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	raw.CurrentContext = cmp.Or(k.context, raw.CurrentContext)
	return raw, nil
}

// namespace returns the namespace of the context; empty if it has none. In a pod, clientcmd would then return the pod's
// namespace, which belongs to another cluster than the hub.
func (k kubeconfig) namespace() (string, error) {
	raw, err := k.raw()
	if err != nil {
		return "", err
	}
	if context := raw.Contexts[raw.CurrentContext]; context != nil {
		return context.Namespace, nil
	}
	return "", nil
}

// server returns the server of the context; empty if unknown.
func (k kubeconfig) server() string {
	raw, err := k.raw()
	if err != nil || raw.Contexts[raw.CurrentContext] == nil {
		return ""
	}
	if cluster := raw.Clusters[raw.Contexts[raw.CurrentContext].Cluster]; cluster != nil {
		return cluster.Server
	}
	return ""
}

// unlike returns a warning if kubectl would use another server here; empty if not.
func (k kubeconfig) unlike(home string) string {
	if home == "" {
		return ""
	}
	other, err := kubeconfigFile(home, k.context)
	if err != nil {
		return ""
	}
	server := other.server()
	if server == "" || server == k.server() {
		return ""
	}
	return fmt.Sprintf("Using the hub of this machine, by %s, and not, as kubectl does, %s of %s. Name a kubeconfig with --kubeconfig to be sure.", k.source, server, home)
}

// warn prints the warning, if there is one.
func (k kubeconfig) warn(env Environment) {
	if k.warning != "" {
		say(env.Err, "%s", k.warning)
	}
}
