package clusterstatus

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
)

// setHeld puts into the status of the Cluster what is to be said of deletions. Since when they are held names the hold, so that
// one that follows upon another has a time of its own, though the condition was True before.
func (r *Reconciler) setHeld(cluster *clusterv1alpha1.Cluster) {
	held, ok := r.held()
	if !ok {
		return
	}
	held.ObservedGeneration = cluster.Generation
	meta.SetStatusCondition(&cluster.Status.Conditions, held)
	if held.Status == metav1.ConditionTrue {
		meta.FindStatusCondition(cluster.Status.Conditions, held.Type).LastTransitionTime = held.LastTransitionTime
	}
}

// tellHeld tells the hub of deletions alone.
func (r *Reconciler) tellHeld(ctx context.Context, cluster *clusterv1alpha1.Cluster) error {
	edit, err := kube.Begin(cluster)
	if err != nil {
		return err
	}
	r.setHeld(cluster)
	if _, err := edit.Commit(ctx, r.hubClient, contract.FieldManagerAgent); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reporting the deletions that are held: %w", err)
	}
	return nil
}
