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

// setHeld sets the condition about held deletions in the status of the Cluster. The time of the hold identifies it,
// so a hold that directly follows another has a transition time of its own, although the condition was True before.
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

// tellHeld writes only the condition about held deletions.
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
