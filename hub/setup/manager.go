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
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/flow/binding/storage"
	"fairlead.dev/hub/people/monitoring"
)

// Options say how the hub works. The zero value of a field means nothing else is said
// about it; every field but the addresses must be set.
type Options struct {
	// ExecutionNamespacePrefix is followed by the name of a cluster.
	ExecutionNamespacePrefix string
	// SkippedNamespaces match the namespaces whose objects are no templates.
	SkippedNamespaces []*regexp.Regexp
	// SkippedKinds are kinds whose objects are no templates.
	SkippedKinds selector.SkippedKinds
	// AllNamespaces sends every namespace to every cluster; else a namespace goes where
	// something of it goes.
	AllNamespaces bool
	// ClusterMonitorPeriod is how long the hub may be stopped without starting the grace periods of clusters over.
	ClusterMonitorPeriod time.Duration
	// ClusterMonitorGracePeriod is the silence after which a cluster is Unknown.
	ClusterMonitorGracePeriod time.Duration
	// ClusterStartupGracePeriod is the same for a cluster that never reported.
	ClusterStartupGracePeriod time.Duration
	// ManualApproval has an operator accept every cluster that joins.
	ManualApproval bool
	// EvictionRate is how many applications leave the failed clusters of a zone each
	// second; 0 is no limit.
	EvictionRate float64
	// EvictionGrace is how long an old copy waits for the new one where nothing else is
	// said.
	EvictionGrace time.Duration
	// EvictionPurgeMode is the default for how an evicted copy is removed, where the policy does not say it.
	EvictionPurgeMode policyv1alpha1.PurgeMode
	// NamespaceStorage is how many bytes of the database the Works of one namespace's templates may take; 0 for any number.
	NamespaceStorage int64
	// AllEvents emits every event, also those that tell an author nothing new.
	AllEvents bool
	// MetricsBindAddress and HealthProbeBindAddress are served nowhere if "0".
	MetricsBindAddress, HealthProbeBindAddress string
	// Registry gets the hub's own metrics; if nil, that of the process, which is served.
	Registry metrics.RegistererGatherer
	// LeaderElection lets one of several hubs of an API work at a time.
	LeaderElection bool
	// Connect says where the API of lines is served; nil serves none.
	Connect *ConnectOptions
	// Clock is the hub's time.
	Clock clock.WithTicker
	// ShutdownTimeout bounds how long the stages may finish what they are at; 0 is 10 seconds.
	ShutdownTimeout time.Duration
	// Open, if not nil, is called once when agents and people may come: when the stages run, or, where hubs elect one, when the caches of
	// those stages are filled that are known before. The hub ends with its error.
	Open func(context.Context) error
	// Ready, if not nil, is called once when the stages run.
	Ready func()
}

// leaseName names the lease by which hubs elect one. The lease is not in the namespace of
// the agents' leases, where a cluster could have that name.
const (
	leaseName      = "fairlead-hub"
	leaseNamespace = metav1.NamespaceSystem
)

// How soon another hub works after one that was killed: when its lease has ended, and at the next look at it. A hub that cannot
// renew its lease stops before that, and outlasts an etcd that elects another leader.
const (
	leaseDuration = 12 * time.Second
	renewDeadline = 8 * time.Second
	retryPeriod   = 2 * time.Second
)

// shutdownTimeout bounds how long the stages may finish what they are at where nothing else is said.
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
	// The server's own fairness protects it; waiting here as well would only hide it.
	cfg = kube.BoundDepth(cfg)
	cfg.QPS = -1
	cfg.UserAgent = fieldOwner
	watches := &kube.WatchErrors{}
	stored := storage.NewLedger(o.NamespaceStorage)
	cached := CacheOptions(stored)
	cached.DefaultWatchErrorHandler = watches.Handle
	mgr, err := manager.New(cfg, manager.Options{
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
			// A hub that waits to be elected follows everything that it will work on.
			EnableWarmup: new(o.LeaderElection),
		},
	})
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

func orNone(address string) string {
	if address == "" {
		return "0"
	}
	return address
}

// opener returns what lets agents and people in, however many ask for it, and returns when they may come. That it is asked to stop
// meanwhile is no error.
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

// addProbes adds the health endpoints and the calls of Open and Ready. A hub that waits to be
// elected is ready: its caches are filled.
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

// runnable is a function that runs in the leader only, or in every hub.
type runnable struct {
	leader bool
	run    func(context.Context) error
}

// Start implements manager.Runnable.
func (r runnable) Start(ctx context.Context) error { return r.run(ctx) }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (r runnable) NeedLeaderElection() bool { return r.leader }
