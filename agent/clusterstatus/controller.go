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
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
)

const (
	// threshold is for how long a change of Ready must hold before it is told.
	threshold = 30 * time.Second
	// workloadTimeout is how long the first report waits for nodes and pods. Whoever
	// waits for the cluster to become ready waits for it.
	workloadTimeout = 500 * time.Millisecond
)

// Deps are what the stage needs.
type Deps struct {
	// Cluster is the name of the member.
	Cluster string
	// Namespace is its execution namespace on the hub. If it is empty nothing is told of quotas.
	Namespace string
	// MemberConfig and MemberHTTP reach the member's API server.
	MemberConfig *rest.Config
	MemberHTTP   *http.Client
	// Workload reads and watches nodes, pods and ResourceQuotas of the member; its requests are
	// not bounded.
	Workload client.WithWatch
	// Pods is told of the member's pods.
	Pods *pods.Store
	// Unclaimed counts the objects in the member that no Work of the hub claims.
	Unclaimed func() int
	// Held returns the condition about deletions that are held back, if there is one.
	Held func() (metav1.Condition, bool)
	// HeldChanged has something to receive if what Held says changed; it may be nil.
	HeldChanged <-chan struct{}
	// Agent returns what the agent counts of itself, without the time and the restarts; nil if
	// the hub is told nothing of that.
	Agent func() clusterv1alpha1.AgentReport
	// Upgrade sees to it that the agent becomes the one that is wanted, and returns what came of
	// that so far; nil if nothing is told of it.
	Upgrade func(ctx context.Context, wanted *clusterv1alpha1.WantedAgent, before *clusterv1alpha1.AgentUpgrade) *clusterv1alpha1.AgentUpgrade
	// UpgradeDue says in how long Upgrade is to be called again at the latest; 0 if it does not matter. It may be nil.
	UpgradeDue func() time.Duration
	// Probed is told whether the member is ready; it may be nil.
	Probed func(ready metav1.Condition)
	// Clock tells the time.
	Clock clock.Clock
	// Frequency is how often the member is asked how it is.
	Frequency time.Duration
}

// Reconciler writes the status of one Cluster.
type Reconciler struct {
	hubClient client.Client
	cluster   string
	namespace string
	unclaimed func() int
	held      func() (metav1.Condition, bool)
	agent     func() clusterv1alpha1.AgentReport
	due       func() time.Duration
	upgrade   func(context.Context, *clusterv1alpha1.WantedAgent, *clusterv1alpha1.AgentUpgrade) *clusterv1alpha1.AgentUpgrade
	probed    func(metav1.Condition)
	clock     clock.Clock
	frequency time.Duration

	member    *member
	workload  *workload
	debouncer facts.Debouncer
	// reported is what this agent told of itself last; nil if it told nothing yet.
	reported *clusterv1alpha1.AgentReport
	// nodes and resources are the last sums, of the models that they were made with.
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
		hubClient: mgr.GetClient(),
		cluster:   deps.Cluster,
		namespace: deps.Namespace,
		unclaimed: deps.Unclaimed,
		held:      deps.Held,
		agent:     deps.Agent,
		upgrade:   deps.Upgrade,
		due:       deps.UpgradeDue,
		probed:    deps.Probed,
		clock:     deps.Clock,
		frequency: deps.Frequency,
		member:    m,
		workload:  w,
		debouncer: facts.Debouncer{SuccessThreshold: threshold, FailureThreshold: threshold},
	}
	// One worker: the reconciler keeps what it saw last.
	err = kube.NewController(mgr, "cluster-status", 1).
		For(&clusterv1alpha1.Cluster{}, builder.WithPredicates(clusterChanges(deps.Cluster))).
		WatchesRawSource(heldSource(deps.Cluster, deps.HeldChanged)).
		Complete(kube.QuietConflicts(r))
	if err != nil {
		return fmt.Errorf("adding the cluster status controller: %w", err)
	}
	return nil
}

// observation is what was gathered in one round.
type observation struct {
	probe       facts.Probe
	version     string
	enablements []clusterv1alpha1.APIEnablement
	partial     bool
	nodes       *clusterv1alpha1.NodeSummary
	resources   *clusterv1alpha1.ResourceSummary
	// unreadReason and unreadMessage say why nodes or pods are not known any more; empty if they are.
	unreadReason, unreadMessage string
	// quotas say what the namespaces leave free, if quotasKnown.
	quotas      []clusterv1alpha1.NamespaceQuota
	quotasKnown bool
	unclaimed   int32
	// whole says that more than the probe was gathered.
	whole bool
}

// Reconcile asks the member how it is and tells the hub what is new. It comes back by
// itself.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	cluster := &clusterv1alpha1.Cluster{}
	if err := r.hubClient.Get(ctx, req.NamespacedName, cluster); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !cluster.DeletionTimestamp.IsZero() { // all that is still of interest is what its removal waits for
		err := r.tellHeld(ctx, cluster)
		r.probe(ctx) // which watches fail is judged by it, also of what is removed
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
		ctrl.LoggerFrom(ctx).Info("Told the hub how the member is", "ready", is.Status, "reason", is.Message)
	}
	return reconcile.Result{RequeueAfter: r.next()}, nil
}

// setAgent puts into the status of the Cluster what the agent counts of itself, if the status is
// written anyway or it is time. It returns what the hub has been told once that is written.
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

// probe asks the member whether it is ready, and tells that to all to whom it matters.
func (r *Reconciler) probe(ctx context.Context) facts.Probe {
	probe := r.member.Probe(ctx)
	if ctx.Err() != nil {
		return probe // the agent ends: that says nothing of the member
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

// gather asks the member. Of a member that is not ready nothing more is asked.
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
	if r.namespace != "" {
		seen.quotas, seen.quotasKnown = r.workload.Quotas(func() (sets.Set[string], error) { return r.content(ctx) })
	}
	return seen
}

// content returns the namespaces of the member that have content from the hub, by the Works.
func (r *Reconciler) content(ctx context.Context) (sets.Set[string], error) {
	ctx, cancel := context.WithTimeout(ctx, workloadTimeout)
	defer cancel()
	var works workv1alpha1.WorkList
	if err := r.hubClient.List(ctx, &works, client.InNamespace(r.namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the Works of the member: %w", err)
	}
	out := sets.New[string]()
	for i := range works.Items {
		if name := facts.ContentIn(&works.Items[i]); name != "" {
			out.Insert(name)
		}
	}
	return out, nil
}

// sums adds up nodes and pods, if anything changed. Before they were seen it has nothing
// to say.
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
