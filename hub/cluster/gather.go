package cluster

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
)

// renewed returns when the lease of a cluster was renewed, by the clock of its agent;
// zero if it never was.
func (r *Reconciler) renewed(ctx context.Context, reader client.Reader, cluster string) (time.Time, error) {
	lease := &coordinationv1.Lease{}
	err := reader.Get(ctx, client.ObjectKey{Namespace: contract.ClusterNamespace, Name: cluster}, lease)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return time.Time{}, fmt.Errorf("reading the lease of cluster %q: %w", cluster, err)
	case lease.Spec.RenewTime == nil: // or there is no lease
		return time.Time{}, nil
	default:
		return lease.Spec.RenewTime.Time, nil
	}
}

// targeting returns a binding that still sends something to a cluster, and how many
// there are.
func (r *Reconciler) targeting(ctx context.Context, cluster string) (example string, count int, err error) {
	var bindings workv1alpha2.ResourceBindingList
	if err := r.hubClient.List(ctx, &bindings); err != nil {
		return "", 0, fmt.Errorf("listing the bindings that target %q: %w", cluster, err)
	}
	var clusterBindings workv1alpha2.ClusterResourceBindingList
	if err := r.hubClient.List(ctx, &clusterBindings); err != nil {
		return "", 0, fmt.Errorf("listing the cluster bindings that target %q: %w", cluster, err)
	}
	see := func(name string, targets []workv1alpha2.TargetCluster) {
		for _, target := range targets {
			if target.Name != cluster {
				continue
			}
			if count++; example == "" || name < example {
				example = name
			}
			return
		}
	}
	for i := range bindings.Items {
		b := &bindings.Items[i]
		see(b.Namespace+"/"+b.Name, b.Spec.Clusters)
	}
	for i := range clusterBindings.Items {
		b := &clusterBindings.Items[i]
		see(b.Name, b.Spec.Clusters)
	}
	return example, count, nil
}

// works returns the Works in an execution namespace, as the cache has them: without
// what they carry.
func (r *Reconciler) works(ctx context.Context, namespace string) ([]workv1alpha1.Work, error) {
	var works workv1alpha1.WorkList
	if err := r.hubClient.List(ctx, &works, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("listing works in %q: %w", namespace, err)
	}
	return works.Items, nil
}

// empty says whether there are really no Works in an execution namespace.
func (r *Reconciler) empty(ctx context.Context, namespace string) (bool, error) {
	works := &metav1.PartialObjectMetadataList{}
	works.SetGroupVersionKind(workv1alpha1.GroupVersion.WithKind("WorkList"))
	if err := r.hubReader.List(ctx, works, client.InNamespace(namespace), client.Limit(1)); err != nil {
		return false, fmt.Errorf("listing works in %q: %w", namespace, err)
	}
	return len(works.Items) == 0, nil
}

// liveNamespace returns a namespace, nil if there is none.
func (r *Reconciler) liveNamespace(ctx context.Context, name string) (*corev1.Namespace, error) {
	namespace := &corev1.Namespace{}
	err := r.hubReader.Get(ctx, client.ObjectKey{Name: name}, namespace)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // that there is none is an answer
	}
	if err != nil {
		return nil, fmt.Errorf("reading the execution namespace %q: %w", name, err)
	}
	return namespace, nil
}
