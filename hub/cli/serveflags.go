package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/pflag"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/logging"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/adjust/failover"
	"fairlead.dev/hub/adjust/failover/evict"
	"fairlead.dev/hub/machinery/apiserver"
	"fairlead.dev/hub/setup"
)

// The values of --events.
const (
	eventsSummary = "summary"
	eventsAll     = "all"
)

// The values of --propagate-namespaces.
const (
	namespacesUsed = "used"
	namespacesAll  = "all"
)

// The values of --approval.
const (
	approvalAuto   = "auto"
	approvalManual = contract.ApprovalManual
)

// serveFlags are the flags of `hub serve`, in the order of its help.
type serveFlags struct {
	dataDir         string
	bindAddress     string
	securePort      int
	advertiseHost   string
	tlsSANs         []string
	adminKubeconfig string
	adminContext    string
	controlplane    string
	passed          []string
	kubeconfig      string
	context         string
	advertiseURL    string
	leaderElect     bool
	// sharesEtcd says that hubs of other machines may use the same etcd.
	sharesEtcd      bool
	addresses       []string
	allowDowngrade  bool
	prefix          string
	monitorPeriod   time.Duration
	monitorGrace    time.Duration
	startupGrace    time.Duration
	evictionRate    float64
	evictionGrace   time.Duration
	evictionPurge   string
	skipped         []string
	approval        string
	events          string
	metricsAddress  string
	probeAddress    string
	dashboard       dashboardFlags
	connect         connectFlags
	backups         scheduleFlags
	memoryLimit     string
	storage         string
	storageBytes    int64
	profiling       bool
	logFormat       string
	verbosity       int
	skippedPatterns []*regexp.Regexp
	skippedAPIs     string
	namespaces      string
	skippedKinds    selector.SkippedKinds
}

func (f *serveFlags) add(fs *pflag.FlagSet) {
	fs.SortFlags = false
	fs.StringVar(&f.dataDir, "data-dir", defaultDataDir, "directory of the embedded API's database, keys and logs; made where it does not exist")
	fs.StringVar(&f.bindAddress, "bind-address", "0.0.0.0", "IP address on which the embedded API listens")
	fs.IntVar(&f.securePort, "secure-port", 6443, "port of the embedded API; 0 takes that of the last start, or a free one")
	fs.StringVar(&f.advertiseHost, "advertise-host", "", "name or address by which members and administrators find the embedded API (default: an address of this machine)")
	fs.StringSliceVar(&f.tlsSANs, "tls-san", nil, "further names and addresses in the embedded API's certificate")
	fs.StringVar(&f.adminKubeconfig, "admin-kubeconfig", "", "where to write the administrator's kubeconfig of the embedded API (default: admin.kubeconfig in the data directory)")
	fs.StringVar(&f.adminContext, "admin-context", "hub", "name of the context in that kubeconfig")
	fs.StringVar(&f.controlplane, "controlplane-binary", "", "the program that is the embedded API (default: controlplane beside this program, or else on $PATH)")
	apiserver.PassedFlags(fs)
	f.backups.add(fs)

	fs.StringVar(&f.kubeconfig, "kubeconfig", "", "run against the API of this kubeconfig instead of an embedded one")
	fs.StringVar(&f.context, "context", "", "context in that kubeconfig (default: the current one)")
	fs.BoolVar(&f.leaderElect, "leader-elect", false, "let one of several hubs of an API work at a time (default: true with --kubeconfig and with --etcd-servers)")

	fs.StringVar(&f.advertiseURL, "advertise-url", "", "https://HOST:PORT that agents are told to dial, unless --hub-addresses says more (default: where the API is)")
	fs.BoolVar(&f.allowDowngrade, "allow-downgrade", false, "install the definitions, rights and admission policies of this version although a newer hub has installed its own, and remove rights and policies that only that one has")
	fs.StringSliceVar(&f.addresses, "hub-addresses", nil, "https://HOST:PORT of every hub of this API, in the order in which agents that join try them; agents learn them while they run (default: those that the hubs have told so far)")
	fs.StringVar(&f.prefix, "execution-namespace-prefix", contract.DefaultExecutionNamespacePrefix, "prefix of the names of execution namespaces, before the cluster's name")
	fs.DurationVar(&f.monitorPeriod, "cluster-monitor-period", 5*time.Second, "how long the hub may be stopped, as a machine that is suspended is: after more than that the grace periods of silent clusters start over")
	fs.DurationVar(&f.monitorGrace, "cluster-monitor-grace-period", 40*time.Second, "how long an agent may be silent before its cluster is Unknown, if its --cluster-lease-duration is not longer")
	fs.DurationVar(&f.startupGrace, "cluster-startup-grace-period", 60*time.Second, "the same for an agent that was never heard of")
	fs.Float64Var(&f.evictionRate, "resource-eviction-rate", failover.DefaultRate, "how many applications per second leave the failed clusters of a region; 0 for no limit")
	fs.DurationVar(&f.evictionGrace, "graceful-eviction-timeout", evict.DefaultGrace, "how long the old copy of an application waits for the new one if its policy sets no other time")
	fs.StringVar(&f.evictionPurge, "no-execute-taint-eviction-purge-mode", string(policyv1alpha1.PurgeGracefully), "how to remove the old copy if the policy sets no purgeMode: Gracefully or Directly")
	fs.StringSliceVar(&f.skipped, "skipped-propagating-namespaces", []string{"kube-.*"}, "regular expressions of namespaces whose objects are never propagated")
	fs.StringVar(&f.namespaces, "propagate-namespaces", namespacesUsed, "used sends a namespace to the clusters of its objects, all sends every namespace to every cluster, except skipped ones")
	fs.StringVar(&f.skippedAPIs, "skipped-propagating-apis", "", "kinds whose objects are never propagated, separated by semicolons: group, group/version, group/version/Kind,Kind, or v1/Kind,Kind for the core group")
	fs.StringVar(&f.storage, "namespace-storage", "2Gi", "how much of the API's database the Works of one namespace may take for all its clusters; a Work that would take more waits, and its binding says so; 0 for no limit")
	fs.StringVar(&f.approval, "approval", approvalAuto, "auto lets whoever has a join token join, manual leaves it to `hub clusters approve`")
	fs.StringVar(&f.events, "events", eventsSummary, "summary emits only events that an author does not expect, such as a warning or a move, all emits every event")

	fs.StringVar(&f.metricsAddress, "metrics-bind-address", "127.0.0.1:8080", "address of the metrics; 0 for none")
	fs.StringVar(&f.probeAddress, "health-probe-bind-address", "0", "address of /healthz and /readyz; 0 for none")
	f.dashboard.add(fs)
	f.connect.add(fs)
	fs.StringVar(&f.memoryLimit, "memory-limit", "", "memory of the hub itself, such as 2Gi, above which its garbage collector works harder (default: $GOMEMLIMIT, or nine tenths of what the container has, of which an embedded API leaves it 40 %)")
	fs.BoolVar(&f.profiling, "profiling", false, "let administrators ask the embedded API for its profiles (GET /debug/pprof/profile), and the user that the hub runs as the hub itself (hub profile), at the socket profiling.sock in the data directory, or with --kubeconfig at one below $TMPDIR that the log names")
	fs.StringVar(&f.logFormat, "log-format", logging.FormatText, "text or json")
	fs.IntVarP(&f.verbosity, "verbosity", "v", 0, "log level: 0 changes, 1 also why something did not change")
}

// embeddedOnly returns the flags that do not apply to an external API.
func embeddedOnly() []string {
	return []string{"data-dir", "bind-address", "secure-port", "advertise-host", "tls-san", "admin-kubeconfig", "admin-context", "controlplane-binary"}
}

// complete sets defaults and validates.
func (f *serveFlags) complete(fs *pflag.FlagSet) error {
	f.passed = apiserver.PassedArguments(fs)
	if f.kubeconfig != "" {
		for _, flag := range f.passed {
			name, _, _ := strings.Cut(flag, "=")
			return fmt.Errorf("%s is for the embedded API, and with --kubeconfig there is none: give it to the API that you have", name)
		}
		for _, name := range embeddedOnly() {
			if fs.Changed(name) {
				return fmt.Errorf("--%s is for the embedded API, and with --kubeconfig there is none", name)
			}
		}
		for _, name := range append(f.backups.names(), "backup-every") {
			if fs.Changed(name) {
				return fmt.Errorf("--%s is for the embedded API, and with --kubeconfig there is none: back up the etcd of the API that you have, everything is in there", name)
			}
		}
	} else if fs.Changed("context") {
		return errors.New("--context is for --kubeconfig; the context of the embedded API is --admin-context")
	}
	f.sharesEtcd = fs.Changed("etcd-servers")
	switch {
	case !fs.Changed("leader-elect"):
		f.leaderElect = f.kubeconfig != "" || f.sharesEtcd
	case f.sharesEtcd && !f.leaderElect:
		return errors.New("--leader-elect=false would have all hubs of the etcd that --etcd-servers names work at once: leave it out")
	}
	for _, check := range []func() error{f.completePaths, f.checkAddresses, f.checkPrefix, f.checkPeriods, f.checkStorage, f.compileSkipped, f.checkApproval, f.checkOutput} {
		if err := check(); err != nil {
			return err
		}
	}
	if err := f.connect.complete(fs, f.kubeconfig == "", f.sharesEtcd); err != nil {
		return err
	}
	if err := f.connect.peers.complete(f.leaderElect, f.connect.enabled); err != nil {
		return err
	}
	dataDir := f.dataDir
	if f.kubeconfig != "" {
		dataDir = ""
	}
	if err := f.backups.complete(fs, dataDir); err != nil {
		return err
	}
	return f.dashboard.complete(fs, dataDir)
}

func (f *serveFlags) completePaths() (err error) {
	if f.dataDir, err = filepath.Abs(f.dataDir); err != nil {
		return fmt.Errorf("--data-dir %q: %w", f.dataDir, err)
	}
	if f.adminKubeconfig == "" {
		f.adminKubeconfig = adminKubeconfig(f.dataDir)
	}
	if f.adminKubeconfig, err = filepath.Abs(f.adminKubeconfig); err != nil {
		return fmt.Errorf("--admin-kubeconfig %q: %w", f.adminKubeconfig, err)
	}
	if f.adminContext == "" {
		return errors.New("--admin-context is empty")
	}
	return nil
}

func (f *serveFlags) options(env Environment) setup.Options {
	return setup.Options{
		ExecutionNamespacePrefix:  f.prefix,
		SkippedNamespaces:         f.skippedPatterns,
		SkippedKinds:              f.skippedKinds,
		AllNamespaces:             f.namespaces == namespacesAll,
		ClusterMonitorPeriod:      f.monitorPeriod,
		ClusterMonitorGracePeriod: f.monitorGrace,
		ClusterStartupGracePeriod: f.startupGrace,
		ManualApproval:            f.approval == approvalManual,
		EvictionRate:              f.evictionRate,
		EvictionGrace:             f.evictionGrace,
		EvictionPurgeMode:         policyv1alpha1.PurgeMode(f.evictionPurge),
		NamespaceStorage:          f.storageBytes,
		AllEvents:                 f.events == eventsAll,
		MetricsBindAddress:        f.metricsAddress,
		HealthProbeBindAddress:    f.probeAddress,
		LeaderElection:            f.leaderElect,
		Connect:                   f.connect.options(f.dataDir),
		Clock:                     env.Clock,
	}
}
