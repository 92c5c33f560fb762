package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/watchset"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/flow/binding/storage"
	"fairlead.dev/hub/people/monitoring"
)

// Options configures the hub. Clock and ExecutionNamespacePrefix are required.
type Options struct {
	// ExecutionNamespacePrefix is the prefix of execution namespaces, followed by the name of a cluster.
	ExecutionNamespacePrefix string
	// SkippedNamespaces match the namespaces whose objects are not templates.
	SkippedNamespaces []*regexp.Regexp
	// SkippedKinds are kinds whose objects are not templates.
	SkippedKinds selector.SkippedKinds
	// AllNamespaces propagates every namespace to every cluster; otherwise a namespace goes only to the clusters of its objects.
	AllNamespaces bool
	// ClusterMonitorPeriod is how long the hub may be stopped without restarting the grace periods of clusters.
	ClusterMonitorPeriod time.Duration
	// ClusterMonitorGracePeriod is the silence after which a cluster is Unknown.
	ClusterMonitorGracePeriod time.Duration
	// ClusterStartupGracePeriod is the same for a cluster that never reported.
	ClusterStartupGracePeriod time.Duration
	// ManualApproval requires an operator to approve every cluster that joins.
	ManualApproval bool
	// EvictionRate is how many applications per second are evicted from the failed clusters of a zone; 0 means unlimited.
	EvictionRate float64
	// EvictionGrace is how long an old copy waits for the new one by default.
	EvictionGrace time.Duration
	// EvictionPurgeMode is how an evicted copy is removed by default.
	EvictionPurgeMode policyv1alpha1.PurgeMode
	// NamespaceStorage is how many bytes of the database the Works of one namespace's templates may take; 0 means unlimited.
	NamespaceStorage int64
	// AllEvents emits every event, including those that tell an author nothing new.
	AllEvents bool
	// MetricsBindAddress and HealthProbeBindAddress are the addresses of metrics and health probes; empty or "0" serves none.
	MetricsBindAddress, HealthProbeBindAddress string
	// Registry registers the hub's own metrics; nil means that of the process, which is served.
	Registry metrics.RegistererGatherer
	// LeaderElection makes the hubs of an API elect a leader, which alone runs the stages.
	LeaderElection bool
	// Connect says where the API of lines is served; nil serves none.
	Connect *ConnectOptions
	// Clock is the hub's time.
	Clock clock.WithTicker
	// ShutdownTimeout bounds how long the stages may take to finish when the hub stops; 0 means 10 seconds.
	ShutdownTimeout time.Duration
	// Open, if not nil, is called once when agents and people may connect: when the caches are filled and the stages run, or, with
	// LeaderElection, when the caches are filled. The hub stops with its error.
	Open func(context.Context) error
	// Ready, if not nil, is called once when the stages run.
	Ready func()
}

// Exclusions returns which objects stay on the hub.
func (o *Options) Exclusions() selector.Exclusions {
	return selector.NewExclusions(o.ExecutionNamespacePrefix, o.SkippedNamespaces, o.SkippedKinds)
}

// leaseName is the name of the lease for leader election. The lease is not in the namespace of the agents' leases, where a cluster could
// have the same name.
const (
	leaseName      = "fairlead-hub"
	leaseNamespace = metav1.NamespaceSystem
)

// Leader election: after a leader is killed, another hub takes over when the lease has expired, at its next retry. A leader that cannot
// renew its lease stops before it expires, but late enough to survive the election of a new leader in etcd.
const (
	leaseDuration = 12 * time.Second
	renewDeadline = 8 * time.Second
	retryPeriod   = 2 * time.Second
)

// shutdownTimeout is the default of Options.ShutdownTimeout.
const shutdownTimeout = 10 * time.Second

// New returns a manager with all stages registered. The API server must be installed:
// see package apiserver.
func New(ctx context.Context, cfg *rest.Config, o Options) (manager.Manager, error) {
	if o.Clock == nil || o.ExecutionNamespacePrefix == "" {
		return nil, errors.New("setting up the hub: the clock and the prefix of execution namespaces must be given")
	}
	if o.Registry == nil {
		o.Registry = metrics.Registry
	}
	scheme, err := kube.NewScheme()
	if err != nil {
		return nil, err
	}
	// No client-side rate limit: the API server protects itself by priority and fairness, and limiting here as well would only hide that.
	cfg = kube.BoundDepth(cfg)
	cfg.QPS = -1
	cfg.UserAgent = fieldOwner
	watches := &watchset.WatchErrors{}
	stored := storage.NewLedger(o.NamespaceStorage)
	mgr, err := manager.New(cfg, managerOptions(scheme, watches, stored, o))
	if err != nil {
		return nil, fmt.Errorf("setting up the hub: %w", err)
	}
	if err := kube.Index(ctx, mgr.GetCache()); err != nil {
		return nil, err
	}
	open, err := newLines(mgr, o)
	if err != nil {
		return nil, err
	}
	if err := register(ctx, mgr, watches, o, open, stored); err != nil {
		return nil, err
	}
	if err := serveLines(ctx, mgr, o, open); err != nil {
		return nil, err
	}
	if err := monitoring.Register(mgr, monitoring.Deps{Registry: o.Registry, Clock: o.Clock}); err != nil {
		return nil, err
	}
	return mgr, addProbes(mgr, o)
}

// managerOptions returns the options of the manager of all stages.
func managerOptions(scheme *runtime.Scheme, watches *watchset.WatchErrors, stored *storage.Ledger, o Options) manager.Options {
	cached := CacheOptions(stored)
	cached.DefaultWatchErrorHandler = watches.Handle
	return manager.Options{
		Scheme:                        scheme,
		Cache:                         cached,
		Client:                        ClientOptions(),
		NewClient:                     kube.NewClient,
		Metrics:                       metricsserver.Options{BindAddress: orNone(o.MetricsBindAddress)},
		HealthProbeBindAddress:        orNone(o.HealthProbeBindAddress),
		LeaderElection:                o.LeaderElection,
		LeaderElectionID:              leaseName,
		LeaderElectionNamespace:       leaseNamespace,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 new(leaseDuration),
		RenewDeadline:                 new(renewDeadline),
		RetryPeriod:                   new(retryPeriod),
		GracefulShutdownTimeout:       new(cmp.Or(o.ShutdownTimeout, shutdownTimeout)),
		Controller: config.Controller{
			// Names are unique in the list of stages; tests run several hubs in a process.
			SkipNameValidation: new(true),
			// A standby watches everything that it will reconcile as the leader.
			EnableWarmup: new(o.LeaderElection),
		},
	}
}

func orNone(address string) string {
	if address == "" {
		return "0"
	}
	return address
}

// opener returns a function that calls Open once, however often it is called, and returns its result. Being stopped meanwhile is not an
// error.
func (o Options) opener() func(context.Context) error {
	var once sync.Once
	var err error
	return func(ctx context.Context) error {
		once.Do(func() {
			if o.Open == nil {
				return
			}
			if err = o.Open(ctx); ctx.Err() != nil {
				err = nil
			}
		})
		return err
	}
}

// addProbes adds the health endpoints and the calls of Open and Ready. A standby is ready once its caches are filled.
func addProbes(mgr manager.Manager, o Options) error {
	var synced atomic.Bool
	open := o.opener()
	standby := runnable{run: func(ctx context.Context) error {
		synced.Store(mgr.GetCache().WaitForCacheSync(ctx))
		if synced.Load() && o.LeaderElection {
			return open(ctx)
		}
		return nil
	}}
	working := runnable{leader: true, run: func(ctx context.Context) error {
		if !mgr.GetCache().WaitForCacheSync(ctx) {
			return nil
		}
		if err := open(ctx); err != nil {
			return err
		}
		if o.Ready != nil {
			o.Ready()
		}
		return nil
	}}
	return errors.Join(
		mgr.Add(standby),
		mgr.Add(working),
		mgr.AddHealthzCheck("ping", func(*http.Request) error { return nil }),
		mgr.AddReadyzCheck("caches", func(*http.Request) error {
			if !synced.Load() {
				return errors.New("the caches are not filled yet")
			}
			return nil
		}),
	)
}

// runnable is a function that runs in every hub, or, with leader, only in the leader.
type runnable struct {
	leader bool
	run    func(context.Context) error
}

// Start implements manager.Runnable.
func (r runnable) Start(ctx context.Context) error { return r.run(ctx) }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (r runnable) NeedLeaderElection() bool { return r.leader }
