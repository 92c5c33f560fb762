package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/disruption"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/fleet/cluster/health"
	"fairlead.dev/hub/fleet/cluster/taint"
)

// Defaults of Deps.
const (
	DefaultMonitorPeriod      = 5 * time.Second
	DefaultGracePeriod        = 40 * time.Second
	DefaultStartupGracePeriod = 60 * time.Second
	defaultWorkers            = 2
)

// Deps are what the stage is given.
type Deps struct {
	// ExecutionNamespacePrefix is followed by the name of the cluster.
	ExecutionNamespacePrefix string
	// Events takes what happens to Clusters.
	Events kube.EventSink
	// Clock is the hub's clock, by which silence is measured.
	Clock clock.PassiveClock
	// Lines are the lines that agents keep open to the hub; nil if the hub takes none.
	Lines Lines
	// Workers is how many Clusters are handled at once; 0 means the default.
	Workers int
	// MonitorPeriod is how late a look at a silent cluster may come and still be
	// believed; 0 means the default.
	MonitorPeriod time.Duration
	// GracePeriod is how long a member that has reported may be silent; 0 means the
	// default.
	GracePeriod time.Duration
	// StartupGracePeriod is how long a member may take until its first report; 0 means
	// the default.
	StartupGracePeriod time.Duration
}

// Reconciler keeps Clusters.
type Reconciler struct {
	hubClient client.Client
	hubReader client.Reader // live
	prefix    string
	events    kube.EventSink
	clock     clock.PassiveClock
	options   health.Options
	states    *clusterStates
	lines     *lineTracker
	// warned has the warnings about Clusters, by name, and about policies, by UID.
	warned kube.WarnOnce[string]
}

// New returns a Reconciler that reads through the client of a manager, and live where
// a cache may not be trusted.
func New(hubClient client.Client, hubReader client.Reader, deps Deps) (*Reconciler, error) {
	if deps.ExecutionNamespacePrefix == "" || deps.Events == nil || deps.Clock == nil {
		return nil, errors.New("making the cluster stage: prefix of execution namespaces, events and clock are needed")
	}
	grace, firstGrace := orDefault(deps.GracePeriod, DefaultGracePeriod), time.Duration(0)
	if deps.Lines != nil {
		firstGrace = disruption.AfterStart(grace)
	}
	return &Reconciler{
		hubClient: hubClient,
		hubReader: hubReader,
		prefix:    deps.ExecutionNamespacePrefix,
		events:    deps.Events,
		clock:     deps.Clock,
		options: health.Options{
			Period:       orDefault(deps.MonitorPeriod, DefaultMonitorPeriod),
			Grace:        grace,
			StartupGrace: orDefault(deps.StartupGracePeriod, DefaultStartupGracePeriod),
			FirstGrace:   firstGrace,
			LineGrace:    health.DefaultLineGrace,
		},
		states: newClusterStates(),
		lines:  newLineTracker(deps.Lines, deps.Clock),
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

// Reconcile brings one Cluster to where it should be. Everything that follows from
// what is seen goes into one patch of the Cluster (and one of its status, when the
// member fell silent); then the execution namespace is made, or unmade.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	shared := &clusterv1alpha1.Cluster{}
	if err := r.hubClient.Get(ctx, req.NamespacedName, shared, client.UnsafeDisableDeepCopy); err != nil {
		if apierrors.IsNotFound(err) {
			r.states.forget(req.Name)
			r.warned.Forget(req.Name)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	decision, err := r.judge(ctx, shared)
	if err != nil {
		return ctrl.Result{}, err
	}
	result := ctrl.Result{RequeueAfter: decision.RecheckAfter}
	if decision.Unstable > 0 {
		ctrl.LoggerFrom(ctx).Info("Losing the line of the agent again and again", "losses", decision.Unstable)
		r.events(lineUnstable(shared, decision.Unstable))
	}
	if r.onlyAlive(ctx, shared, decision) {
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

// onlyAlive says whether there is nothing to do but to remember that the agent lives: that is all that a
// heartbeat says, and thousands of agents have one every few seconds. Everything that record goes by is as
// it was when it found nothing to write, and the execution namespace is there.
func (r *Reconciler) onlyAlive(ctx context.Context, cluster *clusterv1alpha1.Cluster, decision health.Decision) bool {
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

// judge decides whether the member is heard from. Before it is called silent, the
// lease is read live: a cache that lags is no silence.
func (r *Reconciler) judge(ctx context.Context, cluster *clusterv1alpha1.Cluster) (health.Decision, error) {
	renewed, err := r.renewed(ctx, r.hubClient, cluster.Name)
	if err != nil {
		return health.Decision{}, err
	}
	line, suspect := r.lines.of(cluster.Name)
	in := health.Input{
		Now:        r.clock.Now(),
		Ready:      meta.FindStatusCondition(cluster.Status.Conditions, clusterv1alpha1.ClusterReady),
		Generation: cluster.Generation,
		Renewed:    renewed,
		Line:       line,
		Suspect:    suspect,
		Memory:     r.states.of(cluster),
		Options:    r.options,
	}
	decision := health.Decide(in)
	if decision.Ready == nil {
		return decision, nil
	}
	if in.Renewed, err = r.renewed(ctx, r.hubReader, cluster.Name); err != nil {
		// A hub that cannot read cannot have heard: its members get another chance.
		r.states.startOver(cluster, in.Now)
		return health.Decision{}, err
	}
	in.Line, in.Suspect = r.lines.of(cluster.Name)
	return health.Decide(in), nil
}

// record writes what follows from the decision, if it is not there yet.
//
// Taints follow from what is believed of the member. Of one that comes and goes that is
// for a while still the silence.
func (r *Reconciler) record(ctx context.Context, cluster *clusterv1alpha1.Cluster, decision health.Decision) error {
	edit, err := kube.Begin(cluster)
	if err != nil {
		return fmt.Errorf("editing cluster %q: %w", cluster.Name, err)
	}
	taintsBefore := cluster.Spec.Taints
	if cluster.DeletionTimestamp.IsZero() {
		controllerutil.AddFinalizer(cluster, contract.ClusterFinalizer)
		metav1.SetMetaDataAnnotation(&cluster.ObjectMeta, contract.ExecutionNamespaceAnnotation, r.namespace(cluster))
	}
	jump, err := r.compareCapacity(cluster)
	if err != nil {
		return err
	}
	if decision.Ready != nil {
		meta.SetStatusCondition(&cluster.Status.Conditions, *decision.Ready)
	}
	ready := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1alpha1.ClusterReady)
	if ready != nil {
		ready = ready.DeepCopy() // the write returns the object as a whole
	}
	versions, err := r.policyVersions(ctx)
	if err != nil {
		return err
	}
	policies, err := r.taintPolicies(ctx)
	if err != nil {
		return err
	}
	believed := taint.Believed(cluster.Status.Conditions, decision.Settling)
	cluster.Spec.Taints = taint.Decide(cluster.Spec.Taints, meta.FindStatusCondition(believed, clusterv1alpha1.ClusterReady), r.clock.Now())
	cluster.Spec.Taints = taint.ByPolicy(cluster, believed, policies, r.clock.Now())
	taints := cluster.Spec.Taints
	returns := decision.Settling && !r.states.settling(cluster)

	wrote, err := edit.Commit(ctx, r.hubClient, contract.FieldManagerCluster)
	if err != nil {
		if decision.Ready != nil && !apierrors.IsConflict(err) {
			r.states.startOver(cluster, r.clock.Now())
		}
		switch {
		case wrote: // the next try finds the taints there
			r.report(ctx, cluster, health.Decision{}, ready, taintsBefore, taints)
		case !sameTaints(taintsBefore, taints) && !apierrors.IsConflict(err):
			r.events(taintFailed(cluster, err))
		}
		return fmt.Errorf("recording the state of cluster %q: %w", cluster.Name, err)
	}
	r.states.keep(cluster, decision.Memory)
	if !wrote && !decision.Settling {
		r.states.recorded(cluster, versions, r.clock.Now())
	} else {
		r.states.recorded(cluster, "", time.Time{})
	}
	if returns {
		ctrl.LoggerFrom(ctx).Info("Believing later in a cluster that comes and goes", "until", decision.Memory.Settled)
		r.events(settling(cluster, len(decision.Memory.Silences), decision.Memory.Settled))
	}
	if jump != "" && r.warned.IsNew(cluster.Name, reasonCapacityJumped, warningOf(cluster, jump)) {
		r.events(capacityJumped(cluster, jump))
	}
	if wrote {
		r.report(ctx, cluster, decision, ready, taintsBefore, taints)
	}
	return nil
}

// report tells people what changed.
func (r *Reconciler) report(
	ctx context.Context, cluster *clusterv1alpha1.Cluster, decision health.Decision, ready *metav1.Condition, before, after []corev1.Taint,
) {
	log := ctrl.LoggerFrom(ctx)
	if decision.Ready != nil {
		log.Info("Hearing no longer from the agent", "reason", decision.Ready.Reason)
	}
	if sameTaints(before, after) {
		return
	}
	log.Info("Changing taints", "taints", taint.Sentence(after))
	r.events(taintSucceeded(cluster, after))
	if ready != nil && ready.Status != metav1.ConditionTrue {
		r.events(notReady(cluster, ready))
	}
}

// ensureNamespace makes the execution namespace, and returns after how long to look
// again; 0 if the watch wakes us.
func (r *Reconciler) ensureNamespace(ctx context.Context, cluster *clusterv1alpha1.Cluster) (time.Duration, error) {
	namespace := &corev1.Namespace{}
	err := r.hubClient.Get(ctx, client.ObjectKey{Name: r.namespace(cluster)}, namespace)
	switch {
	case err == nil && namespace.DeletionTimestamp.IsZero():
		return 0, nil
	case err == nil:
		return r.vacate(ctx, cluster)
	case !apierrors.IsNotFound(err):
		return 0, fmt.Errorf("reading the execution namespace of %q: %w", cluster.Name, err)
	}
	namespace = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name:   r.namespace(cluster),
		Labels: map[string]string{contract.SystemLabel: contract.LabelTrue},
	}}
	if err := r.hubClient.Create(ctx, namespace, client.FieldOwner(contract.FieldManagerCluster)); err != nil {
		if apierrors.IsAlreadyExists(err) {
			return 0, nil // the cache is behind
		}
		r.events(namespaceFailed(cluster, err))
		return 0, fmt.Errorf("making the execution namespace of %q: %w", cluster.Name, err)
	}
	ctrl.LoggerFrom(ctx).Info("Making the execution namespace", "namespace", namespace.Name)
	r.events(namespaceMade(cluster, namespace.Name))
	return 0, nil
}

// vacate lets an execution namespace go that somebody deleted, though the Cluster
// stays; then it is made anew. With it went the rights of the agent, so nobody but us
// can take the finalizers from its Works; the objects in the member stay.
func (r *Reconciler) vacate(ctx context.Context, cluster *clusterv1alpha1.Cluster) (time.Duration, error) {
	left, err := r.drain(ctx, cluster)
	if left == 0 || err != nil {
		return 0, err
	}
	ctrl.LoggerFrom(ctx).V(1).Info("Releasing the Works of an execution namespace that is being deleted", "count", left)
	return removalPoll, nil
}

func (r *Reconciler) namespace(cluster *clusterv1alpha1.Cluster) string {
	return contract.ExecutionNamespace(r.prefix, cluster.Name)
}

func orDefault[T comparable](value, fallback T) T {
	var zero T
	if value == zero {
		return fallback
	}
	return value
}
