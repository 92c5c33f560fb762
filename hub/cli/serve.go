package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"k8s.io/client-go/rest"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"fairlead.dev/common/logging"
	"fairlead.dev/common/memory"
	"fairlead.dev/common/version"
	"fairlead.dev/hub/machinery/apiserver"
	"fairlead.dev/hub/setup"
)

func newServe(env Environment) *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the hub",
		Long: "Run the hub: all its controllers, and, unless --kubeconfig names another, a Kubernetes API of its own.\n" +
			"Everything is in the data directory; started again on the same, the hub goes on where it was.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.complete(cmd.Flags()); err != nil {
				return err
			}
			return serve(cmd.Context(), env, f)
		},
	}
	f.add(cmd.Flags())
	return cmd
}

// embeddedPart is which part of the memory of a container the hub itself takes where it runs the
// embedded API beside it.
const embeddedPart = 0.4

// heapPart is which part of the memory of a machine the heap of the embedded API may fill for the
// sake of speed.
const heapPart = 0.25

// serve runs the hub until the context ends, which is no error.
func serve(ctx context.Context, env Environment, f serveFlags) error {
	log, err := logging.New(env.Err, f.logFormat, f.verbosity)
	if err != nil {
		return err
	}
	env.SetLogger(log)
	ctx = ctrl.LoggerInto(ctx, log)
	part := embeddedPart
	if f.kubeconfig != "" {
		part = 1
	}
	if _, err := memory.Bound(f.memoryLimit, part, os.DirFS("/")); err != nil {
		return fmt.Errorf("--memory-limit: %w", err)
	}
	go followHeap(ctx, env)

	// Better now than after the API is up.
	listens := map[string]string{"metrics-bind-address": f.metricsAddress, "health-probe-bind-address": f.probeAddress, "dashboard-bind-address": f.dashboard.address}
	if f.connect.enabled {
		listens["connect-bind-address"] = f.connect.address
	}
	if f.connect.peers.used {
		listens["peer-bind-address"] = f.connect.peers.address
	}
	for flag, address := range listens {
		if err := probe(ctx, address); err != nil {
			return fmt.Errorf("--%s %s cannot be listened on: %w; choose another, or 0 for none", flag, address, err)
		}
	}
	run := serveEmbedded
	if f.kubeconfig != "" {
		run = serveExternal
	}
	err = run(ctx, env, f)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil // asked to stop before all was up
	}
	return err
}

// serveEmbedded runs the hub with an API of its own. The hub ends when the API does.
func serveEmbedded(ctx context.Context, env Environment, f serveFlags) error {
	binary, err := apiserver.FindBinary(f.controlplane)
	if err != nil {
		return err
	}
	say(env.Err, "Starting the embedded API in %s", f.dataDir)
	api, err := apiserver.Embedded{
		Binary: binary, DataDir: f.dataDir,
		BindAddress: f.bindAddress, SecurePort: f.securePort,
		AdvertiseHost: f.advertiseHost, TLSSANs: f.names(),
		Kubeconfig: f.adminKubeconfig, Context: f.adminContext, Profiling: f.profiling,
		Flags: f.passed, WaitForHub: true,
		HeapRoom: int64(heapPart * float64(memory.Available(os.DirFS("/")))),
		Progress: func(line string) { say(env.Err, "  %s", strings.TrimPrefix(line, "controlplane: ")) },
		Clock:    env.Clock,
	}.Start(ctx)
	if err != nil {
		return err
	}
	defer api.Stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		<-api.Done()
		cancel(errStopped)
	}()

	server := f.advertiseURL
	if server == "" {
		server = api.ServerURL(ctx)
	}
	err = work(ctx, env, f, api.Config(), f.clusterInfo(server, api.Config().CAData), func(ctx context.Context) error {
		if err := api.Open(ctx); err != nil {
			return err
		}
		say(env.Err, "\nThe hub's API:     %s", server)
		say(env.Err, "For its operators: kubectl --kubeconfig %s --context %s get clusters", f.adminKubeconfig, f.adminContext)
		say(env.Err, "To join a cluster: hub token create --cluster NAME%s\n", f.tokenFlags(env))
		return nil
	})
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errStopped):
		return api.Err()
	case cause != nil && !errors.Is(cause, context.Canceled):
		return cause
	default:
		return err
	}
}

// errStopped says that the embedded API ended before the hub did.
var errStopped = errors.New("the embedded API stopped")

// tokenFlags returns the flags with which `hub token create` finds this hub.
func (f serveFlags) tokenFlags(env Environment) string {
	switch {
	case f.adminKubeconfig == adminKubeconfig(defaultDataDir) && env.Getenv(kubeconfigEnv) == "":
		return ""
	default:
		return " --kubeconfig " + f.adminKubeconfig
	}
}

// clusterInfo returns the information for agents about a hub at a URL, and about the other hubs of its API.
func (f serveFlags) clusterInfo(server string, ca []byte) *apiserver.ClusterInfo {
	if len(f.addresses) > 0 {
		return &apiserver.ClusterInfo{Servers: f.addresses, CA: ca}
	}
	return &apiserver.ClusterInfo{Servers: []string{server}, Merge: f.sharesEtcd, CA: ca}
}

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
		say(env.Err, "To join a cluster: hub token create --cluster NAME --kubeconfig %s\n", f.kubeconfig)
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

// work installs what the hub needs and runs its stages. Open is called when it can use agents and people.
func work(ctx context.Context, env Environment, f serveFlags, cfg *rest.Config, info *apiserver.ClusterInfo, open func(context.Context) error) error {
	err := apiserver.Install(ctx, cfg, apiserver.Options{
		ClusterInfo: info, AdoptClusterInfo: f.kubeconfig == "", Version: version.Of().Version, AllowDowngrade: f.allowDowngrade,
	})
	if err != nil {
		return err
	}
	o := f.options(env)
	o.Open, o.Ready = open, func() { say(env.Err, "Hub is ready") }
	mgr, err := setup.New(ctx, cfg, o)
	if err != nil {
		return err
	}
	if f.profiling {
		if err := mgr.Add(profiling{socket: filepath.Join(f.dataDir, profilingSocket)}); err != nil {
			return fmt.Errorf("serving profiles: %w", err)
		}
	}
	if err := f.backups.addSchedule(env, mgr, storeFlags{dataDir: f.dataDir, controlplane: f.controlplane}, f.events == eventsAll); err != nil {
		return err
	}
	if f.kubeconfig == "" {
		stop, err := apiserver.RegisterStateMetrics(metrics.Registry, f.dataDir, env.Clock)
		if err != nil {
			return err
		}
		defer stop()
	}
	if f.sharesEtcd {
		if err := addEtcdProbe(mgr, cfg, env.Clock); err != nil {
			return err
		}
	}
	at, err := f.dashboard.addDashboard(ctx, env, mgr, cfg)
	if err != nil {
		return err
	}
	if at != "" {
		say(env.Err, "The dashboard:     https://%s\n", at)
	}
	if err := mgr.Start(ctx); err != nil {
		return stopped(err, f.sharesEtcd)
	}
	return nil
}

// leaderElectionLost is the message of an error of controller-runtime that has no type.
const leaderElectionLost = "leader election lost"

// stopped says why a hub ended by itself.
func stopped(err error, sharesEtcd bool) error {
	if !strings.Contains(err.Error(), leaderElectionLost) {
		return fmt.Errorf("the hub stopped: %w", err)
	}
	look := "look whether its API answers (`kubectl get --raw /readyz?verbose`)"
	if sharesEtcd {
		look = "look at the members of the etcd that --etcd-servers names (`etcdctl endpoint health`)"
	}
	return fmt.Errorf("this hub could not renew its lease in time, so it ends and another may work: start it again, as its unit does; if that happens again, "+
		"%s, and whether this machine has time for it: %w", look, err)
}

// probe says why an address cannot be listened on.
func probe(ctx context.Context, address string) error {
	if address == "" || address == "0" {
		return nil
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		// The address is in the flag already.
		if op := (*net.OpError)(nil); errors.As(err, &op) {
			return op.Err
		}
		return err
	}
	return l.Close()
}

// say prints a line for people.
func say(w io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(w, format+"\n", args...)
}
