package main

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/watch"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

// awaitReady waits until the condition Ready of all named clusters has a status at the same time. It watches, because
// listing thousands of clusters repeatedly would cost more than the system that is measured.
func (s *system) awaitReady(ctx context.Context, names []string, want metav1.ConditionStatus) error {
	missing := sets.New(names...)
	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	for ctx.Err() == nil {
		w, err := s.hubClient.Watch(ctx, &clusterv1alpha1.ClusterList{}) // without a resourceVersion, so that existing objects come first
		if err != nil {
			return fmt.Errorf("watching clusters: %w", err)
		}
		if done := seeReady(w, sets.New(names...), missing, want); done {
			return nil
		}
	}
	return fmt.Errorf("waiting for Ready=%s of %d clusters, of which %d are not: %w", want, len(names), missing.Len(), ctx.Err())
}

// seeReady removes names from missing whose Ready has the wanted status, and adds those back whose status changes,
// until missing is empty or the watch ends.
func seeReady(w watch.Interface, names, missing sets.Set[string], want metav1.ConditionStatus) (done bool) {
	defer w.Stop()
	for event := range w.ResultChan() {
		cluster, ok := event.Object.(*clusterv1alpha1.Cluster)
		if !ok || !names.Has(cluster.Name) {
			continue
		}
		missing.Insert(cluster.Name)
		if event.Type != watch.Deleted && meta.IsStatusConditionPresentAndEqual(cluster.Status.Conditions, clusterv1alpha1.ClusterReady, want) {
			missing.Delete(cluster.Name)
		}
		if missing.Len() == 0 {
			return true
		}
	}
	return false
}
