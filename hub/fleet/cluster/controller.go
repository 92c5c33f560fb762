package cluster

import (
	"cmp"
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/clock"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/disruption"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/hub/fleet/cluster/health"
)

// Defaults of Deps.
const (
	DefaultMonitorPeriod      = 5 * time.Second
	DefaultGracePeriod        = 40 * time.Second
	DefaultStartupGracePeriod = 60 * time.Second
	// Each decision about a silent cluster costs a live read and two writes, and when a region fails hundreds are due at once.
	defaultWorkers = 8
)

// Deps are the dependencies of the stage.
type Deps struct {
	// ExecutionNamespacePrefix is the prefix of the names of execution namespaces, before the name of the cluster.
	ExecutionNamespacePrefix string
	// Events takes the events about Clusters.
	Events eventsink.Sink
	// Clock is the hub's clock, which silence is measured by.
	Clock clock.WithTicker
	// Reconnects is told of members that come back after a start of the hub; nil if no other stage asks.
	Reconnects *disruption.Reconnects
	// Lines has the state of the agents' lines; nil if the hub accepts none.
	Lines Lines
	// Workers is the number of Clusters that are reconciled in parallel; 0 is the default.
	Workers int
	// MonitorPeriod is how long the hub's process may be suspended before all grace periods start over; 0 is the default.
	MonitorPeriod time.Duration
	// GracePeriod is how long a member that has reported may be silent; 0 is the default.
	GracePeriod time.Duration
	// StartupGracePeriod is how long a member may take until its first report; 0 is the default.
	StartupGracePeriod time.Duration
}

// Reconciler reconciles Clusters.
type Reconciler struct {
	hubClient client.Client
	hubReader client.Reader // live
	prefix    string
	events    eventsink.Sink
	clock     clock.PassiveClock
	options   health.Options
	states    *clusterStates
	lines     *lineTracker
	watchdog  *watchdog
	// reconnects says whether members still come back after a start.
	reconnects *disruption.Reconnects
	// warned remembers the warnings about Clusters, by name, and about policies, by UID.
	warned kube.WarnOnce[string]
}

// New returns a Reconciler that reads through the client of a manager, and live where a stale cache would do harm.
func New(hubClient client.Client, hubReader client.Reader, deps Deps) (*Reconciler, error) {
	if deps.ExecutionNamespacePrefix == "" || deps.Events == nil || deps.Clock == nil {
		return nil, errors.New("making the cluster stage: prefix of execution namespaces, events and clock are needed")
	}
	grace, firstGrace := orDefault(deps.GracePeriod, DefaultGracePeriod), time.Duration(0)
	if deps.Lines != nil {
		firstGrace = disruption.StartGrace(grace)
	}
	options := health.Options{
		Period:       orDefault(deps.MonitorPeriod, DefaultMonitorPeriod),
		Grace:        grace,
		StartupGrace: orDefault(deps.StartupGracePeriod, DefaultStartupGracePeriod),
		FirstGrace:   firstGrace,
		LineGrace:    health.DefaultLineGrace,
	}
	return &Reconciler{
		hubClient: hubClient,
		hubReader: hubReader,
		prefix:    deps.ExecutionNamespacePrefix,
		events:    deps.Events,
		clock:     deps.Clock,
		options:   options,
		states:    newClusterStates(),
		lines:     newLineTracker(deps.Lines, deps.Clock),
		watchdog:  &watchdog{clock: deps.Clock, options: options},

		reconnects: cmp.Or(deps.Reconnects, &disruption.Reconnects{}),
	}, nil
}

// Register adds the stage to a manager.
func Register(mgr manager.Manager, deps Deps) error {
	r, err := New(mgr.GetClient(), mgr.GetAPIReader(), deps)
	if err != nil {
		return err
	}
	return r.register(mgr, orDefault(deps.Workers, defaultWorkers))
}

// Reconcile reconciles one Cluster. All changes go into one patch of the Cluster, and one of its status if the member fell silent. Then the
// execution namespace is created, or, for a deleted Cluster, removed.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	shared := &clusterv1alpha1.Cluster{}
	if err := r.hubClient.Get(ctx, req.NamespacedName, shared, client.UnsafeDisableDeepCopy); err != nil {
		if apierrors.IsNotFound(err) {
			r.states.forget(req.Name)
			r.warned.Forget(req.Name)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	decision, err := r.decideHealth(ctx, shared)
	if err != nil {
		return ctrl.Result{}, err
	}
	if decision.Reconnected {
		r.reconnects.Note(r.clock.Now())
	}
	result := ctrl.Result{RequeueAfter: decision.RecheckAfter}
	if decision.Unstable > 0 {
		ctrl.LoggerFrom(ctx).Info("The line of the agent is lost again and again", "losses", decision.Unstable)
		r.events(lineUnstable(shared, decision.Unstable))
	}
	if r.isHeartbeatOnly(ctx, shared, decision) {
		r.states.keep(shared, decision.Memory)
		return result, nil
	}
	cluster := shared.DeepCopy()
	if err := r.record(ctx, cluster, decision); err != nil {
		return ctrl.Result{}, err
	}
	next := r.ensureNamespace
	if !cluster.DeletionTimestamp.IsZero() {
		next = r.remove
	}
	wait, err := next(ctx, cluster)
	if wait > 0 && (result.RequeueAfter == 0 || wait < result.RequeueAfter) {
		result.RequeueAfter = wait
	}
	return result, err
}

// isHeartbeatOnly says whether only a heartbeat has arrived, so that there is nothing to write. Thousands of agents send one every few
// seconds. The Cluster, the policies and the execution namespace must be as they were when there was last nothing to write.
func (r *Reconciler) isHeartbeatOnly(ctx context.Context, cluster *clusterv1alpha1.Cluster, decision health.Decision) bool {
	if decision.Ready != nil || decision.Settling || !cluster.DeletionTimestamp.IsZero() {
		return false
	}
	policies, err := r.policyVersions(ctx)
	if err != nil || !r.states.recordedLately(cluster, policies, r.clock.Now()) {
		return false
	}
	namespace := &corev1.Namespace{}
	err = r.hubClient.Get(ctx, client.ObjectKey{Name: r.namespace(cluster)}, namespace, client.UnsafeDisableDeepCopy)
	return err == nil && namespace.DeletionTimestamp.IsZero()
}

// decideHealth decides whether the member is alive. Before the decision that it is silent, the lease is read live, since the cache may lag.
func (r *Reconciler) decideHealth(ctx context.Context, cluster *clusterv1alpha1.Cluster) (health.Decision, error) {
	renewed, patience, err := r.leaseRenewal(ctx, r.hubClient, cluster.Name)
	if err != nil {
		return health.Decision{}, err
	}
	line, suspect := r.lines.of(cluster.Name)
	in := health.Input{
		Now:        r.clock.Now(),
		Ready:      meta.FindStatusCondition(cluster.Status.Conditions, clusterv1alpha1.ClusterReady),
		Generation: cluster.Generation,
		Renewed:    renewed,
		Patience:   patience,
		Line:       line,
		Suspect:    suspect,
		Memory:     r.states.of(cluster),
		Awake:      r.watchdog.runningSince(),
		Options:    r.options,
	}
	in.Reconnected = r.reconnects.Last(in.Now)
	decision := health.Decide(in)
	if decision.Ready == nil {
		return decision, nil
	}
	if in.Renewed, in.Patience, err = r.leaseRenewal(ctx, r.hubReader, cluster.Name); err != nil {
		// A hub that cannot read cannot have heard: its members get another chance.
		r.states.startOver(cluster, in.Now)
		return health.Decision{}, err
	}
	r.watchdog.answered(in.Now)
	in.Now, in.Awake = r.clock.Now(), r.watchdog.runningSince()
	in.Line, in.Suspect = r.lines.of(cluster.Name)
	in.Reconnected = r.reconnects.Last(in.Now)
	return health.Decide(in), nil
}

func orDefault[T comparable](value, fallback T) T {
	var zero T
	if value == zero {
		return fallback
	}
	return value
}
