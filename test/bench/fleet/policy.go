package main

import (
	"context"
	"fmt"
	"math"

	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
)

// policy edits the policy that selects everything in a way that moves nothing.
func (s *system) policy(ctx context.Context, at size, out *sheet) error {
	u, err := s.untilQuiet(ctx, func() error {
		live := &policyv1alpha1.ClusterPropagationPolicy{}
		if err := s.hubClient.Get(ctx, client.ObjectKey{Name: policyName}, live); err != nil {
			return fmt.Errorf("reading the policy: %w", err)
		}
		edited := live.DeepCopy()
		edited.Spec.Priority = new(int32(at.bindings % math.MaxInt16))
		preserves := live.Spec.PreserveResourcesOnDeletion
		edited.Spec.PreserveResourcesOnDeletion = new(preserves == nil || !*preserves)
		if err := s.hubClient.Patch(ctx, edited, client.MergeFrom(live)); err != nil {
			return fmt.Errorf("editing the policy: %w", err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	out.tell("time until all is done", u.seconds, "s")
	out.account("", "application", u, float64(at.bindings))
	return nil
}
