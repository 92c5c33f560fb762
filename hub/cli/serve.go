package cli

import (
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
	"fairlead.dev/common/roots"
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
	completeDirectories(cmd, "data-dir", "backup-dir", "backup-scratch-dir")
	complete(cmd, "approval", []string{approvalAuto, approvalManual})
	return cmd
}

// embeddedPart is the hub's own share of a container's memory if it runs the embedded API next to it.
const embeddedPart = 0.4

// heapPart is the share of a machine's memory that the heap of the embedded API may take to save CPU time.
const heapPart = 0.25

// serve runs the hub until the context ends, which is no error.
func serve(ctx context.Context, env Environment, f serveFlags) error {
	log, err := logging.New(env.Err, f.logFormat, f.verbosity)
	if err != nil {
		return err
	}
	env.SetLogger(log)
	roots.Fallback() // the issuer may have a certificate from a public authority
	ctx = ctrl.LoggerInto(ctx, log)
	part := embeddedPart
	if f.kubeconfig != "" {
		part = 1
	}
	if _, err := memory.Bound(f.memoryLimit, part, os.DirFS("/")); err != nil {
		return fmt.Errorf("--memory-limit: %w", err)
	}
	go followHeap(ctx, env)

	// Check now rather than after the API has started.
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
		return nil // asked to stop before everything was up
	}
	return err
}

// serveEmbedded runs the hub with an embedded API. The hub ends when the API does.
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

// clusterInfo returns the ClusterInfo for a hub at a URL, and the other hubs of its API.
func (f serveFlags) clusterInfo(server string, ca []byte) *apiserver.ClusterInfo {
	if len(f.addresses) > 0 {
		return &apiserver.ClusterInfo{Servers: f.addresses, CA: ca}
	}
	return &apiserver.ClusterInfo{Servers: []string{server}, Merge: f.sharesEtcd, CA: ca}
}

// work installs what the hub needs and runs its stages. Open is called when it can use agents and people.
func work(ctx context.Context, env Environment, f serveFlags, cfg *rest.Config, info *apiserver.ClusterInfo, open func(context.Context) error) error {
	o := f.options(env)
	err := apiserver.Install(ctx, cfg, apiserver.Options{
		ClusterInfo: info, Exclusions: new(o.Exclusions()), AdoptClusterInfo: f.kubeconfig == "", Version: version.Of().Version, AllowDowngrade: f.allowDowngrade,
	})
	if err != nil {
		return err
	}
	o.Open, o.Ready = open, func() { say(env.Err, "Hub is ready") }
	mgr, err := setup.New(ctx, cfg, o)
	if err != nil {
		return err
	}
	if f.profiling {
		p := profiling{}
		if f.kubeconfig == "" {
			p.socket = filepath.Join(f.dataDir, profilingSocket)
		}
		if err := mgr.Add(p); err != nil {
			return fmt.Errorf("serving profiles: %w", err)
		}
	}
	if err := f.backups.addSchedule(env, mgr, storeFlags{dataDir: f.dataDir, controlplane: f.controlplane}, f.sharesEtcd, f.events == eventsAll); err != nil {
		return err
	}
	if f.kubeconfig == "" {
		stop, err := apiserver.RegisterStateMetrics(metrics.Registry, f.dataDir, env.Clock)
		if err != nil {
			return err
		}
		defer stop()
	}
	forget, err := apiserver.RegisterCertificateMetrics(metrics.Registry, f.certificates(cfg), env.Clock)
	if err != nil {
		return err
	}
	defer forget()
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

// leaderElectionLost is the message of a controller-runtime error without a type.
const leaderElectionLost = "leader election lost"

// stopped says why a hub ended by itself.
func stopped(err error, sharesEtcd bool) error {
	if !strings.Contains(err.Error(), leaderElectionLost) {
		return fmt.Errorf("the hub stopped: %w", err)
	}
	look := "check whether its API answers (`kubectl get --raw /readyz?verbose`)"
	if sharesEtcd {
		look = "check the members of the etcd that --etcd-servers names (`etcdctl endpoint health`)"
	}
	return fmt.Errorf("this hub could not renew its lease in time, so it ends and another may work: start it again, as its unit does; if that happens again, "+
		"%s, and whether this machine has time for it: %w", look, err)
}

// probe returns an error if it is not possible to listen at an address.
func probe(ctx context.Context, address string) error {
	if address == "" || address == "0" {
		return nil
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		// The caller names the address already.
		if op := (*net.OpError)(nil); errors.As(err, &op) {
			return op.Err
		}
		return err
	}
	return l.Close()
}

// say prints a line.
func say(w io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(w, format+"\n", args...)
}
