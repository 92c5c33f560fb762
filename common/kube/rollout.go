package kube

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
)

// Rollout is a StagedRollout or a ClusterStagedRollout.
type Rollout interface {
	client.Object
	fairleadv1alpha1.Rollout
}

// RolloutKind abstracts over the two kinds of rollouts, so that a stage has one implementation for both.
type RolloutKind struct {
	// Kind is the name of the kind, Resource its resource in URLs and RBAC.
	Kind, Resource string
	// New returns an empty rollout.
	New func() Rollout

	list func(ctx context.Context, r client.Reader, opts ...client.ListOption) ([]Rollout, error)
}

// StagedRollouts returns the kind of rollouts for namespaced templates.
func StagedRollouts() RolloutKind {
	return RolloutKind{
		Kind: fairleadv1alpha1.KindStagedRollout, Resource: "stagedrollouts",
		New: func() Rollout { return &fairleadv1alpha1.StagedRollout{} },
		list: func(ctx context.Context, r client.Reader, opts ...client.ListOption) ([]Rollout, error) {
			var list fairleadv1alpha1.StagedRolloutList
			return listShared(ctx, r, &list, &list.Items, func(one *fairleadv1alpha1.StagedRollout) Rollout { return one }, opts...)
		},
	}
}

// ClusterStagedRollouts returns the kind of rollouts for cluster-scoped templates.
func ClusterStagedRollouts() RolloutKind {
	return RolloutKind{
		Kind: fairleadv1alpha1.KindClusterStagedRollout, Resource: "clusterstagedrollouts",
		New: func() Rollout { return &fairleadv1alpha1.ClusterStagedRollout{} },
		list: func(ctx context.Context, r client.Reader, opts ...client.ListOption) ([]Rollout, error) {
			var list fairleadv1alpha1.ClusterStagedRolloutList
			return listShared(ctx, r, &list, &list.Items, func(one *fairleadv1alpha1.ClusterStagedRollout) Rollout { return one }, opts...)
		},
	}
}

// RolloutsIn returns the kind of rollouts for templates in a namespace, or cluster-scoped ones.
func RolloutsIn(namespace string) RolloutKind {
	if namespace == "" {
		return ClusterStagedRollouts()
	}
	return StagedRollouts()
}

// List returns the rollouts of the kind. They must not be changed: a cache returns shared objects.
func (k RolloutKind) List(ctx context.Context, r client.Reader, opts ...client.ListOption) ([]Rollout, error) {
	out, err := k.list(ctx, r, opts...)
	if err != nil {
		return nil, fmt.Errorf("listing %ss: %w", k.Kind, err)
	}
	return out, nil
}
