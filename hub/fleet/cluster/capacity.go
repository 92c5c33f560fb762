package cluster

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/fleet/cluster/capacity"
)

// compareCapacity updates the baseline of a Cluster's capacity and its condition CapacityJumped from the agent's report. It returns the
// message of a new jump, for an event, or else an empty text. No timer runs for the end of a day: the next heartbeat comes soon enough.
func (r *Reconciler) compareCapacity(cluster *clusterv1alpha1.Cluster) (string, error) {
	var believed corev1.ResourceList
	if summary := cluster.Capacity(); summary != nil {
		believed = summary.Allocatable
	}
	now := r.clock.Now()
	d := capacity.Decide(capacity.Input{
		Now: now, Cluster: cluster.Name, Believed: believed, Usual: capacity.Read(cluster.Annotations[contract.UsualCapacityAnnotation]),
	})
	if d.Usual != nil {
		raw, err := json.Marshal(d.Usual)
		if err != nil {
			return "", fmt.Errorf("noting the usual capacity of cluster %q: %w", cluster.Name, err)
		}
		metav1.SetMetaDataAnnotation(&cluster.ObjectMeta, contract.UsualCapacityAnnotation, string(raw))
	}
	has := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1alpha1.ClusterCapacityJumped)
	next := d.Condition(has, cluster.Generation, now)
	if next == nil {
		return "", nil
	}
	meta.SetStatusCondition(&cluster.Status.Conditions, *next)
	return d.Message, nil
}
