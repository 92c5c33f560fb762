package binding

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/kube"
)

// readTargets reads what says which content the targets get: Clusters, allowance, quotas, rollouts and override policies.
func (r *reconciler) readTargets(ctx context.Context, s *scope) error {
	if err := r.readClusters(ctx, s); err != nil {
		return err
	}
	if err := r.readAllowance(ctx, s); err != nil {
		return err
	}
	if err := r.readQuotas(ctx, s); err != nil {
		return err
	}
	if err := r.readRollouts(ctx, s); err != nil {
		return err
	}
	var err error
	s.policies, err = kube.OverridePolicies(ctx, r.hubClient, &s.binding.BindingSpec().Resource)
	return err
}

func (r *reconciler) readClusters(ctx context.Context, s *scope) error {
	for _, target := range s.targets {
		cluster := &clusterv1alpha1.Cluster{}
		err := r.hubClient.Get(ctx, client.ObjectKey{Name: target.Name}, cluster, client.UnsafeDisableDeepCopy)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("reading cluster %q: %w", target.Name, err)
		}
		if cluster.DeletionTimestamp.IsZero() {
			s.clusters[target.Name] = cluster
		}
	}
	return nil
}
