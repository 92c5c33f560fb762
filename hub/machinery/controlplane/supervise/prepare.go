package supervise

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"

	"fairlead.dev/hub/machinery/controlplane/args"
	"fairlead.dev/hub/machinery/controlplane/atomicfile"
	"fairlead.dev/hub/machinery/controlplane/audit"
	"fairlead.dev/hub/machinery/controlplane/datadir"
	"fairlead.dev/hub/machinery/controlplane/encryption"
	"fairlead.dev/hub/machinery/controlplane/process"
)

// inputOf returns the input for the components' command lines, as far as the user and the data directory determine it.
func inputOf(cfg Config, dir *datadir.Dir, cidr netip.Prefix) args.Input {
	return args.Input{
		Profile:       cfg.Profile,
		EtcdDir:       dir.Etcd(),
		ExternalEtcd:  cfg.Etcd,
		DatabaseQuota: cfg.DatabaseQuota,
		UnsafeNoFsync: cfg.UnsafeNoFsync,
		UnsafeExec:    cfg.UnsafeExec,
		Profiling:     cfg.Profiling,
		Kubeconfig:    dir.Kubeconfig,
		BindAddress:   cfg.BindAddress,
		AdvertiseHost: cfg.AdvertiseHost,
		ServiceCIDR:   cidr,
		HeapRoom:      cfg.HeapRoom,
	}
}

// secure returns the state of the hub's encryption, and sets up authentication and the audit log. The state is nil for a cluster, which has
// none of these.
func secure(cfg Config, dir *datadir.Dir, in *args.Input, now time.Time) (*encryption.State, error) {
	if cfg.Profile != args.Hub {
		return nil, nil //nolint:nilnil // Only a hub encrypts its database.
	}
	state, err := encryption.Open(dir.Encryption(), cfg.EncryptionProviderConfig, now)
	if err != nil {
		return nil, err
	}
	in.EncryptionConfig = state.Path()
	if in.Audit, err = auditOf(cfg, dir); err != nil {
		return nil, err
	}
	in.Authentication = cfg.Authentication
	return state, nil
}

// identify writes the certificates and kubeconfigs, records this hub among those of the etcd, and returns a client for the API server that
// is to start.
func identify(ctx context.Context, cfg Config, dir *datadir.Dir, s *store, in *args.Input, now time.Time) (*kubernetes.Clientset, error) {
	credentials, err := makeCredentials(cfg, dir, in, servingHosts(cfg, *in, ownName(), ownAddresses()), now)
	if err != nil {
		return nil, err
	}
	if err := s.enter(ctx, dir); err != nil {
		return nil, err
	}
	return connect(credentials)
}

// newGroup returns the group of processes, each of which is this same program with other arguments.
func newGroup(dir *datadir.Dir, clk clock.Clock, report Report) (*process.Group, error) {
	executable, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding the executable to start components from: %w", err)
	}
	return process.NewGroup(process.Config{
		Executable: executable, Dir: dir.Run(), Logs: dir.Logs(), Clock: clk, Report: report,
	}), nil
}

// auditOf completes the user's options for the audit log.
func auditOf(cfg Config, dir *datadir.Dir) (args.Audit, error) {
	a := cfg.Audit
	if a.PolicyFile == "" {
		a.PolicyFile = filepath.Join(dir.Audit(), "policy.yaml")
		if err := atomicfile.Write(a.PolicyFile, audit.Policy); err != nil {
			return a, err
		}
	}
	if a.LogPath == "" {
		a.LogPath = filepath.Join(dir.Audit(), "audit.log")
	}
	return a, nil
}

func connect(config []byte) (*kubernetes.Clientset, error) {
	rest, err := clientcmd.RESTConfigFromKubeConfig(config)
	if err != nil {
		return nil, fmt.Errorf("reading our own kubeconfig: %w", err)
	}
	rest.QPS = -1 // a thousand nodes are created in one go
	c, err := kubernetes.NewForConfig(rest)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	return c, nil
}
