package cluster

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/fleet/cluster/health"
	"fairlead.dev/hub/fleet/cluster/taint"
)

// record writes the decision to the Cluster if the Cluster differs from it.
func (r *Reconciler) record(ctx context.Context, cluster *clusterv1alpha1.Cluster, decision health.Decision) error {
	edit, err := kube.Begin(cluster)
	if err != nil {
		return fmt.Errorf("editing cluster %q: %w", cluster.Name, err)
	}
	c, err := r.setState(ctx, cluster, decision)
	if err != nil {
		return err
	}

	asked := r.clock.Now()
	wrote, err := edit.Commit(ctx, r.hubClient, contract.FieldManagerCluster)
	r.watchdog.answered(asked)
	if err != nil {
		r.recordFailure(ctx, cluster, decision, c, wrote, err)
		return fmt.Errorf("recording the state of cluster %q: %w", cluster.Name, err)
	}
	r.states.keep(cluster, decision.Memory)
	if !wrote && !decision.Settling {
		r.states.recorded(cluster, c.versions, r.clock.Now())
	} else {
		r.states.recorded(cluster, "", time.Time{})
	}
	if c.returns {
		ctrl.LoggerFrom(ctx).Info("Waiting longer before a cluster that keeps falling silent counts as back", "until", decision.Memory.Settled)
		r.events(settling(cluster, len(decision.Memory.Silences), decision.Memory.Settled))
	}
	if c.jump != "" && r.warned.IsNew(cluster.Name, reasonCapacityJumped, warningOf(cluster, c.jump)) {
		r.events(capacityJumped(cluster, c.jump))
	}
	if wrote {
		r.report(ctx, cluster, decision, c)
	}
	return nil
}

// change is how a Cluster was changed before the write, which overwrites the object with the server's response.
type change struct {
	// jump says how the reported capacity jumped; empty if it did not.
	jump string
	// ready is the condition Ready; nil if there is none.
	ready *metav1.Condition
	// versions are those of the taint policies.
	versions string
	// taintsBefore and taints are the taints before and after the change.
	taintsBefore, taints []corev1.Taint
	// returns is whether the cluster has begun to settle.
	returns bool
}

// setState sets on the Cluster in memory what follows from the decision.
func (r *Reconciler) setState(ctx context.Context, cluster *clusterv1alpha1.Cluster, decision health.Decision) (change, error) {
	c := change{taintsBefore: cluster.Spec.Taints}
	if cluster.DeletionTimestamp.IsZero() {
		controllerutil.AddFinalizer(cluster, contract.ClusterFinalizer)
		metav1.SetMetaDataAnnotation(&cluster.ObjectMeta, contract.ExecutionNamespaceAnnotation, r.namespace(cluster))
	}
	var err error
	if c.jump, err = r.compareCapacity(cluster); err != nil {
		return c, err
	}
	if decision.Ready != nil {
		meta.SetStatusCondition(&cluster.Status.Conditions, *decision.Ready)
	}
	c.ready = meta.FindStatusCondition(cluster.Status.Conditions, clusterv1alpha1.ClusterReady).DeepCopy()
	if c.versions, err = r.policyVersions(ctx); err != nil {
		return c, err
	}
	if err := r.setTaints(ctx, cluster, decision.Settling); err != nil {
		return c, err
	}
	c.taints = cluster.Spec.Taints
	c.returns = decision.Settling && !r.states.isSettling(cluster)
	return c, nil
}

// recordFailure notes that the write of a change failed, or its second half if the taints were written.
func (r *Reconciler) recordFailure(
	ctx context.Context, cluster *clusterv1alpha1.Cluster, decision health.Decision, c change, wrote bool, err error,
) {
	if decision.Ready != nil && !apierrors.IsConflict(err) {
		r.states.startOver(cluster, r.clock.Now())
	}
	switch {
	case wrote: // the taints are written, so the retry will not report them
		r.report(ctx, cluster, health.Decision{}, c)
	case !sameTaints(c.taintsBefore, c.taints) && !apierrors.IsConflict(err):
		r.events(taintFailed(cluster, err))
	}
}

// setTaints sets the taints that follow from the Cluster's conditions. For a member whose heartbeats come and go, Ready counts as Unknown
// until it has settled.
func (r *Reconciler) setTaints(ctx context.Context, cluster *clusterv1alpha1.Cluster, settling bool) error {
	policies, err := r.taintPolicies(ctx)
	if err != nil {
		return err
	}
	believed := taint.EffectiveConditions(cluster.Status.Conditions, settling)
	cluster.Spec.Taints = taint.Decide(cluster.Spec.Taints, meta.FindStatusCondition(believed, clusterv1alpha1.ClusterReady), r.clock.Now())
	cluster.Spec.Taints = taint.ByPolicy(cluster, believed, policies, r.clock.Now())
	return nil
}

// report emits the events about a change.
func (r *Reconciler) report(ctx context.Context, cluster *clusterv1alpha1.Cluster, decision health.Decision, c change) {
	log := ctrl.LoggerFrom(ctx)
	if decision.Ready != nil {
		log.Info("The agent is no longer heard from", "reason", decision.Ready.Reason)
	}
	if sameTaints(c.taintsBefore, c.taints) {
		return
	}
	log.Info("Changing taints", "taints", taint.Sentence(c.taints))
	r.events(taintSucceeded(cluster, c.taints))
	if c.ready != nil && c.ready.Status != metav1.ConditionTrue {
		r.events(notReady(cluster, c.ready))
	}
}
