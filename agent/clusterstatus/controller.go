package clusterstatus

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"fairlead.dev/agent/clusterstatus/facts"
	"fairlead.dev/agent/clusterstatus/pods"
	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
)

const (
	// threshold is how long a change of Ready must last before it is reported.
	threshold = 30 * time.Second
	// workloadTimeout is how long the first report waits for nodes and pods. It delays anybody who waits for the
	// cluster to become Ready.
	workloadTimeout = 500 * time.Millisecond
)

// Deps are the dependencies of the stage.
type Deps struct {
	// Cluster is the name of the member.
	Cluster string
	// Namespaces returns the namespaces of the member in which the hub has objects, and fails while they are not
	// known. If it is nil, quotas are not reported.
	Namespaces func(ctx context.Context) (sets.Set[string], error)
	// MemberConfig and MemberHTTP reach the member's API server.
	MemberConfig *rest.Config
	MemberHTTP   *http.Client
	// Workload reads and watches nodes, pods and ResourceQuotas of the member; its requests have no timeout.
	Workload client.WithWatch
	// Pods receives the member's pods.
	Pods *pods.Store
	// Unclaimed counts the member's managed objects that no Work of the hub claims.
	Unclaimed func() int
	// Held returns the condition about held deletions, if there is one.
	Held func() (metav1.Condition, bool)
	// HeldChanged receives a value when the result of Held changed; it may be nil.
	HeldChanged <-chan struct{}
	// Agent returns the agent's own counters, without the time and the restarts; nil if they are not reported.
	Agent func() clusterv1alpha1.AgentReport
	// Upgrade requests the wanted upgrade of the agent and returns its status; nil if upgrades are not reported.
	Upgrade func(ctx context.Context, wanted *clusterv1alpha1.WantedAgent, before *clusterv1alpha1.AgentUpgrade) *clusterv1alpha1.AgentUpgrade
	// UpgradeDue returns the delay after which Upgrade has to be called again at the latest; 0 if there is no
	// deadline. It may be nil.
	UpgradeDue func() time.Duration
	// Probed is called with the result of each readiness probe of the member; it may be nil.
	Probed func(ready metav1.Condition)
	// Clock is replaced in tests.
	Clock clock.Clock
	// Frequency is the interval of the reports.
	Frequency time.Duration
}

// Reconciler writes the status of one Cluster.
type Reconciler struct {
	hubClient  client.Client
	cluster    string
	namespaces func(ctx context.Context) (sets.Set[string], error)
	unclaimed  func() int
	held       func() (metav1.Condition, bool)
	agent      func() clusterv1alpha1.AgentReport
	due        func() time.Duration
	upgrade    func(context.Context, *clusterv1alpha1.WantedAgent, *clusterv1alpha1.AgentUpgrade) *clusterv1alpha1.AgentUpgrade
	probed     func(metav1.Condition)
	clock      clock.Clock
	frequency  time.Duration

	member    *member
	workload  *workload
	debouncer facts.Debouncer
	// reported are the agent's counters as last reported; nil if none were yet.
	reported *clusterv1alpha1.AgentReport
	// nodes and resources are the last sums, computed with models.
	nodes     *clusterv1alpha1.NodeSummary
	resources *clusterv1alpha1.ResourceSummary
	models    []clusterv1alpha1.ResourceModel
}

// Register adds the stage to the manager of the hub's connection.
func Register(mgr manager.Manager, deps Deps) error {
	switch {
	case deps.Cluster == "", deps.MemberConfig == nil, deps.MemberHTTP == nil, deps.Workload == nil, deps.Pods == nil, deps.Unclaimed == nil, deps.Held == nil, deps.Clock == nil:
		return errors.New("clusterstatus: a dependency is missing")
	case deps.Frequency <= 0:
		return errors.New("clusterstatus: the frequency must be positive")
	}
	m, err := newMember(deps.MemberConfig, deps.MemberHTTP)
	if err != nil {
		return err
	}
	w := newWorkload(deps.Workload, deps.Pods, deps.Clock)
	if err := mgr.Add(w); err != nil {
		return fmt.Errorf("adding the watch of nodes, pods and quotas: %w", err)
	}
	r := &Reconciler{
		hubClient:  mgr.GetClient(),
		cluster:    deps.Cluster,
		namespaces: deps.Namespaces,
		unclaimed:  deps.Unclaimed,
		held:       deps.Held,
		agent:      deps.Agent,
		upgrade:    deps.Upgrade,
		due:        deps.UpgradeDue,
		probed:     deps.Probed,
		clock:      deps.Clock,
		frequency:  deps.Frequency,
		member:     m,
		workload:   w,
		debouncer:  facts.Debouncer{SuccessThreshold: threshold, FailureThreshold: threshold},
	}
	// One worker, since the reconciler remembers what it saw last.
	err = kube.NewController(mgr, "cluster-status", 1).
		For(&clusterv1alpha1.Cluster{}, builder.WithPredicates(clusterChanges(deps.Cluster))).
		WatchesRawSource(heldSource(deps.Cluster, deps.HeldChanged)).
		Complete(kube.QuietConflicts(r))
	if err != nil {
		return fmt.Errorf("adding the cluster status controller: %w", err)
	}
	return nil
}

// observation is what one round collected.
type observation struct {
	probe       facts.Probe
	version     string
	enablements []clusterv1alpha1.APIEnablement
	partial     bool
	nodes       *clusterv1alpha1.NodeSummary
	resources   *clusterv1alpha1.ResourceSummary
	// unreadReason and unreadMessage say why nodes or pods are no longer known; empty if they are.
	unreadReason, unreadMessage string
	// quotas are what the namespaces have left; they are valid if quotasKnown.
	quotas      []clusterv1alpha1.NamespaceQuota
	quotasKnown bool
	unclaimed   int32
	// whole says that more than the probe was collected.
	whole bool
}

// Reconcile probes the member and reports changes to the hub. It requeues itself.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	cluster := &clusterv1alpha1.Cluster{}
	if err := r.hubClient.Get(ctx, req.NamespacedName, cluster); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !cluster.DeletionTimestamp.IsZero() { // only held deletions still matter, since the removal waits for them
		err := r.tellHeld(ctx, cluster)
		r.probe(ctx) // the watches of a cluster in removal are judged by the probe too
		return reconcile.Result{RequeueAfter: r.frequency}, err
	}
	seen := r.gather(ctx, cluster)
	if ctx.Err() != nil {
		return reconcile.Result{}, ctx.Err()
	}
	before := cluster.Status.DeepCopy()
	edit, err := kube.Begin(cluster)
	if err != nil {
		return reconcile.Result{}, err
	}
	var counts bool
	was := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1alpha1.ClusterReady).DeepCopy()
	r.debouncer, counts = r.debouncer.Next(facts.Ready(seen.probe), was, r.clock.Now())
	if counts {
		setStatus(cluster, seen, metav1.NewTime(r.clock.Now()).Rfc3339Copy())
	}
	r.setHeld(cluster)
	if r.upgrade != nil {
		cluster.Status.AgentUpgrade = r.upgrade(ctx, cluster.Spec.Agent, cluster.Status.AgentUpgrade)
	}
	told := r.setAgent(cluster, !equality.Semantic.DeepEqual(before, &cluster.Status))
	wrote, err := edit.Commit(ctx, r.hubClient, contract.FieldManagerAgent)
	if err != nil {
		r.workload.Again()
		return reconcile.Result{}, fmt.Errorf("reporting the member: %w", err)
	}
	r.reported = told
	is := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1alpha1.ClusterReady)
	if wrote && is != nil && (was == nil || was.Status != is.Status) {
		ctrl.LoggerFrom(ctx).Info("Reported the status of the member to the hub", "ready", is.Status, "reason", is.Message)
	}
	return reconcile.Result{RequeueAfter: r.next()}, nil
}

// setAgent sets the agent's counters in the status of the Cluster, if the status is written anyway or a report of
// them is due. It returns the counters that the hub has once that is written.
func (r *Reconciler) setAgent(cluster *clusterv1alpha1.Cluster, written bool) *clusterv1alpha1.AgentReport {
	if r.agent == nil {
		return nil
	}
	next := facts.Report(r.reported, cluster.Status.Agent, r.agent(), r.clock.Now())
	if !written && !facts.ReportDue(r.reported, &next, facts.ReportEvery(r.frequency)) {
		return r.reported
	}
	cluster.Status.Agent = &next
	return &next
}

// probe checks whether the member is ready, and passes the result on.
func (r *Reconciler) probe(ctx context.Context) facts.Probe {
	probe := r.member.Probe(ctx)
	if ctx.Err() != nil {
		return probe // the agent is stopping, which says nothing about the member
	}
	ready := facts.Ready(probe)
	if ready.Status != metav1.ConditionTrue {
		r.workload.Unready()
	}
	if r.probed != nil {
		r.probed(ready)
	}
	return probe
}

// gather collects the state of the member. If the member is not ready, it stops at that.
func (r *Reconciler) gather(ctx context.Context, cluster *clusterv1alpha1.Cluster) observation {
	seen := observation{probe: r.probe(ctx), unclaimed: int32(min(r.unclaimed(), math.MaxInt32))}
	if facts.Ready(seen.probe).Status != metav1.ConditionTrue {
		return seen
	}
	seen.whole = true
	version, err := r.member.Version(ctx)
	if err != nil {
		ctrl.LoggerFrom(ctx).V(1).Info("Could not ask for the member's version", "reason", err.Error())
		version = cluster.Status.KubernetesVersion
	}
	seen.version = version
	seen.enablements, seen.partial = r.member.Enablements(ctx)
	seen.nodes, seen.resources = r.sums(ctx, cluster.Spec.ResourceModels)
	seen.unreadReason, seen.unreadMessage = r.workload.Unread()
	if r.namespaces != nil {
		seen.quotas, seen.quotasKnown = r.workload.Quotas(func() (sets.Set[string], error) { return r.namespaces(ctx) })
	}
	return seen
}

// sums adds up nodes and pods, if anything changed. It returns nothing before they were read.
func (r *Reconciler) sums(ctx context.Context, models []clusterv1alpha1.ResourceModel) (*clusterv1alpha1.NodeSummary, *clusterv1alpha1.ResourceSummary) {
	timeout := workloadTimeout
	if r.nodes != nil {
		timeout = 0
	}
	heard := r.workload.Wait(ctx, r.clock, timeout)
	if reason, _ := r.workload.Unread(); !heard && reason == "" {
		return r.nodes, r.resources
	}
	if r.workload.Changed() || r.resources == nil || !equality.Semantic.DeepEqual(models, r.models) {
		r.nodes, r.resources = r.workload.Sums(models)
		r.models = models
	}
	return r.nodes, r.resources
}
