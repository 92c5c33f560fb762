package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"

	"k8s.io/client-go/rest"

	"fairlead.dev/hub/machinery/apiserver"
)

// serveExternal runs the hub against an API of somebody else's.
func serveExternal(ctx context.Context, env Environment, f serveFlags) error {
	cfg, err := loadKubeconfig(f.kubeconfig, f.context)
	if err != nil {
		return err
	}
	info, err := f.externalInfo(cfg)
	if err != nil {
		return err
	}
	return work(ctx, env, f, cfg, info, func(context.Context) error {
		say(env.Err, "\nThe hub's API:     %s", cfg.Host)
		if info == nil {
			say(env.Err, "Its kubeconfig names no certificate authority, so agents are told nothing of it: write ConfigMap kube-public/cluster-info yourself")
		}
		say(env.Err, "To join a cluster: hub token create --cluster NAME%s\n", f.externalFlags())
		return nil
	})
}

// externalInfo returns what agents are told of an API of somebody else's, if nobody has
// told them yet.
func (f serveFlags) externalInfo(cfg *rest.Config) (*apiserver.ClusterInfo, error) {
	info := f.clusterInfo(cmp.Or(f.advertiseURL, cfg.Host), cfg.CAData)
	if len(info.CA) == 0 && cfg.CAFile != "" {
		data, err := os.ReadFile(cfg.CAFile) // as the operator's kubeconfig says
		if err != nil {
			return nil, fmt.Errorf("reading the certificate authority that the kubeconfig names: %w", err)
		}
		info.CA = data
	}
	if len(info.CA) == 0 {
		return nil, nil // there is nothing by which agents could check the hub
	}
	return info, nil
}

// externalFlags returns the flags with which `hub token create` finds an API of somebody else's.
func (f serveFlags) externalFlags() string {
	out := " --kubeconfig " + f.kubeconfig
	if f.context != "" {
		out += " --context " + f.context
	}
	return out
}
