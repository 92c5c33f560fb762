package cli

import (
	"fmt"
	"path/filepath"

	"k8s.io/client-go/rest"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/kube"
)

// Default paths, and the variable that overrides one.
const (
	defaultDataDir = "/var/lib/fairlead"
	kubeconfigEnv  = "KUBECONFIG"
)

// adminKubeconfig is the default path of a hub's administrator kubeconfig.
func adminKubeconfig(dataDir string) string { return filepath.Join(dataDir, "admin.kubeconfig") }

// loadKubeconfig reads a kubeconfig file; an empty context means the current one.
func loadKubeconfig(path, context string) (*rest.Config, error) {
	k, err := kubeconfigFile(path, context)
	if err != nil {
		return nil, err
	}
	return k.config()
}

// config returns the client configuration for the hub.
func (f hubFlags) config(env Environment) (*rest.Config, error) {
	k, err := f.find(env)
	if err != nil {
		return nil, err
	}
	k.warn(env)
	cfg, err := k.config()
	if err != nil {
		return nil, err
	}
	return kube.BoundDepth(cfg), nil
}

// connect returns an uncached client of the hub's API.
func (f hubFlags) connect(env Environment) (client.Client, error) {
	cfg, err := f.config(env)
	if err != nil {
		return nil, err
	}
	return clientOf(cfg)
}

func clientOf(cfg *rest.Config) (client.Client, error) {
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
