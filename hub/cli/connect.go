package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/kube"
)

// Places of things by default.
const (
	defaultDataDir = "/var/lib/fairlead"
	kubeconfigEnv  = "KUBECONFIG"
)

// adminKubeconfig is where the administrator's kubeconfig of a hub is by default.
func adminKubeconfig(dataDir string) string { return filepath.Join(dataDir, "admin.kubeconfig") }

// loadKubeconfig reads a kubeconfig file; an empty context is the current one.
func loadKubeconfig(path, context string) (*rest.Config, error) {
	if _, err := os.Stat(path); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("there is no kubeconfig %s", path)
		}
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	return fromRules(&clientcmd.ClientConfigLoadingRules{ExplicitPath: path}, path, context)
}

func fromRules(rules *clientcmd.ClientConfigLoadingRules, source, context string) (*rest.Config, error) {
	cfg, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules,
		&clientcmd.ConfigOverrides{CurrentContext: context, ClusterDefaults: clientcmdapi.Cluster{}}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s cannot be used: %w", source, err)
	}
	cfg.QPS = -1
	return cfg, nil
}

// hubFlags say which hub an operator's command talks to.
type hubFlags struct {
	kubeconfig, context, dataDir string
}

// add adds the flags to a command.
func (f *hubFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig of the hub (default: $KUBECONFIG, or else admin.kubeconfig in the data directory)")
	flags.StringVar(&f.context, "context", "", "context in that kubeconfig (default: the current one)")
	flags.StringVar(&f.dataDir, "data-dir", defaultDataDir, "data directory of a hub on this machine")
}

// config returns the way to the hub: the kubeconfig that the flag names, or else that of
// the environment, or else the one that a hub on this machine has written.
func (f hubFlags) config(env Environment) (*rest.Config, error) {
	cfg, err := f.read(env)
	if err != nil {
		return nil, err
	}
	return kube.BoundDepth(cfg), nil
}

func (f hubFlags) read(env Environment) (*rest.Config, error) {
	if f.kubeconfig != "" {
		return loadKubeconfig(f.kubeconfig, f.context)
	}
	if list := env.Getenv(kubeconfigEnv); list != "" {
		rules := &clientcmd.ClientConfigLoadingRules{Precedence: filepath.SplitList(list)}
		return fromRules(rules, "$"+kubeconfigEnv+" ("+list+")", f.context)
	}
	path := adminKubeconfig(f.dataDir)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no hub is known on this machine, since there is no %s: start one with `hub serve`, or name its kubeconfig with --kubeconfig", path)
	}
	return loadKubeconfig(path, f.context)
}

// connect returns a client of the hub's API that caches nothing.
func (f hubFlags) connect(env Environment) (client.Client, error) {
	cfg, err := f.config(env)
	if err != nil {
		return nil, err
	}
	scheme, err := kube.NewScheme()
	if err != nil {
		return nil, err
	}
	hubClient, err := client.New(cfg, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connecting to the hub at %s: %w", cfg.Host, err)
	}
	return hubClient, nil
}
