package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"

	"fairlead.dev/agent/install"
	"fairlead.dev/agent/registration"
	"fairlead.dev/agent/registration/discovery"
	"fairlead.dev/common/roots"
)

// defaultStateDir is the default state directory.
const defaultStateDir = "/var/lib/fairlead/agent"

// memberFlags identify the member cluster.
type memberFlags struct {
	kubeconfig, context string
}

func (f *memberFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig of this cluster; without it, $KUBECONFIG, then ~/.kube/config, then, in a pod, its service account")
	flags.StringVar(&f.context, "context", "", "context in the kubeconfig; without it, the current one")
}

// loader loads the kubeconfig, or the in-cluster configuration in a pod.
func (f *memberFlags) loader() clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: f.context})
}

// config returns the client configuration of the member; in a pod of the member it bypasses any proxy.
func (f *memberFlags) config() (*rest.Config, error) {
	config, err := f.loader().ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig of this cluster: %w; name one with --kubeconfig, and one of its contexts with --context", err)
	}
	if config.CAFile == "" && len(config.CAData) == 0 && !config.Insecure {
		roots.Fallback() // the member's certificate is signed by a public authority
	}
	return bypassProxy(config), nil
}

// installer returns an Installer for the member.
func (f *memberFlags) installer() (*install.Installer, error) {
	config, err := f.config()
	if err != nil {
		return nil, err
	}
	return newInstaller(config)
}

// clusterName returns the name of the member in the kubeconfig; empty if there is none.
func (f *memberFlags) clusterName() string {
	raw, err := f.loader().RawConfig()
	if err != nil {
		return ""
	}
	name := f.context
	if name == "" {
		name = raw.CurrentContext
	}
	if context := raw.Contexts[name]; context != nil {
		return context.Cluster
	}
	return ""
}

// typed returns the flags as typed on the command line.
func (f *memberFlags) typed() string {
	var out strings.Builder
	if f.kubeconfig != "" {
		out.WriteString(" --kubeconfig " + f.kubeconfig)
	}
	if f.context != "" {
		out.WriteString(" --context " + f.context)
	}
	return out.String()
}

// joinFlags name the hub to join, and the identity to join with.
type joinFlags struct {
	stateDir    string
	token       string
	tokenFile   string
	hashes      []string
	skipCA      bool
	clusterName string
	onRetire    string
	account     string
	timeout     time.Duration
}

func (f *joinFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.stateDir, "state-dir", defaultStateDir, "directory that holds the identity of this agent")
	flags.StringVar(&f.token, "token", "", "join token (`ID.SECRET`), as hub token create printed it")
	flags.StringVar(&f.tokenFile, "token-file", "", "file that holds the join token, instead of --token")
	flags.StringSliceVar(&f.hashes, "discovery-token-ca-cert-hash", nil, "hash of the hub's certificate authority, sha256:HEX; may be given more than once")
	flags.BoolVar(&f.skipCA, "discovery-token-unsafe-skip-ca-verification", false, "join without checking a hash: whoever knows the token can then pass for the hub")
	flags.StringVar(&f.clusterName, "cluster-name", "", "name of this cluster on the hub; without it, what the kubeconfig calls it")
	flags.StringVar(&f.onRetire, "on-retire", "", "what to do with the objects here if the hub forgets this cluster: keep or remove (default: the previous setting, at first keep)")
	flags.StringVar(&f.account, "as-service-account", "", "name of a ServiceAccount: namespaced objects are applied and deleted as the account of this name in their namespace, so that no tenant of the hub does more here than the account may; the agent must be allowed to impersonate it. Without it, only the agent's own rights limit this")
	flags.DurationVar(&f.timeout, "discovery-timeout", registration.DefaultDeadline, "how long to keep trying to join")
}

// typed returns the flags that `agent run` needs as well, as typed on the command line.
func (f *joinFlags) typed() string {
	if f.account == "" {
		return ""
	}
	return " --as-service-account " + f.account
}

// any returns whether a flag was given that only a join needs.
func (f *joinFlags) any() bool {
	return f.token != "" || f.tokenFile != "" || len(f.hashes) > 0 || f.skipCA
}

// secret returns the join token.
func (f *joinFlags) secret() (string, error) {
	switch {
	case f.token != "" && f.tokenFile != "":
		return "", errors.New("--token and --token-file exclude each other")
	case f.tokenFile == "":
		return f.token, nil
	}
	raw, err := os.ReadFile(f.tokenFile)
	if err != nil {
		return "", fmt.Errorf("reading --token-file: %w", err)
	}
	return strings.TrimSpace(string(raw)), nil
}

// parsed validates the flags for a hub.
func (f *joinFlags) parsed(hub string) (discovery.Parameters, error) {
	token, err := f.secret()
	if err != nil {
		return discovery.Parameters{}, err
	}
	return discovery.Parse(discovery.Flags{
		Hub: hub, Token: token, CACertHashes: f.hashes, SkipCAVerification: f.skipCA, Cluster: f.clusterName,
	})
}

func (f *joinFlags) validateOnRetire() error {
	if f.onRetire != "" && f.onRetire != registration.Keep && f.onRetire != registration.Remove {
		return fmt.Errorf("--on-retire is %q; it is %s or %s", f.onRetire, registration.Keep, registration.Remove)
	}
	return nil
}

// options returns the options of a join, without the token.
func (f *joinFlags) options(hub string, member memberFlags, config *rest.Config, progress func(string)) (registration.Options, error) {
	if f.timeout <= 0 {
		return registration.Options{}, errors.New("--discovery-timeout must be positive")
	}
	if err := f.validateOnRetire(); err != nil {
		return registration.Options{}, err
	}
	cluster := f.clusterName
	if cluster == "" {
		cluster = member.clusterName()
	}
	return registration.Options{
		Flags: discovery.Flags{
			Hub: hub, CACertHashes: f.hashes, SkipCAVerification: f.skipCA, Cluster: cluster,
		},
		StateDir: f.stateDir,
		Member:   config,
		OnRetire: f.onRetire,
		Deadline: f.timeout,
		Progress: progress,
		Clock:    clock.RealClock{},
	}, nil
}
