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
		ready = ready.DeepCopy() // the write overwrites cluster with the server's response
	}
	versions, err := r.policyVersions(ctx)
	if err != nil {
		return err
	}
	if err := r.setTaints(ctx, cluster, decision.Settling); err != nil {
		return err
	}
	taints := cluster.Spec.Taints
	returns := decision.Settling && !r.states.isSettling(cluster)

	asked := r.clock.Now()
	wrote, err := edit.Commit(ctx, r.hubClient, contract.FieldManagerCluster)
	r.watchdog.answered(asked)
	if err != nil {
		if decision.Ready != nil && !apierrors.IsConflict(err) {
			r.states.startOver(cluster, r.clock.Now())
		}
		switch {
		case wrote: // the taints are written, so the retry will not report them
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
		ctrl.LoggerFrom(ctx).Info("Waiting longer before a cluster that keeps falling silent counts as back", "until", decision.Memory.Settled)
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

// report emits the events about the changes.
func (r *Reconciler) report(
	ctx context.Context, cluster *clusterv1alpha1.Cluster, decision health.Decision, ready *metav1.Condition, before, after []corev1.Taint,
) {
	log := ctrl.LoggerFrom(ctx)
	if decision.Ready != nil {
		log.Info("The agent is no longer heard from", "reason", decision.Ready.Reason)
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
