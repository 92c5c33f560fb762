package main

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/test/builder"
)

const wideLabel = "bench-wide"

// wide propagates one application to all clusters, changes it and reverts the propagation.
func (s *system) wide(ctx context.Context, at size, out *sheet) error {
	policy := builder.MakePolicy("", "wide").SelectLabel("apps/v1", "Deployment", wideLabel, "true").ClusterObj()
	policy.Spec.Placement.ReplicaScheduling = &policyv1alpha1.ReplicaSchedulingStrategy{ReplicaSchedulingType: policyv1alpha1.Duplicated}
	if err := client.IgnoreAlreadyExists(s.hubClient.Create(ctx, policy)); err != nil {
		return fmt.Errorf("making a policy: %w", err)
	}
	template := deployment(client.ObjectKey{Namespace: application(0).Namespace, Name: "wide"})
	template.Labels = map[string]string{"app": "wide", wideLabel: "true"}
	patch := fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"registry.example.com/shop/web:%d"}]}}}}`, at.agents)
	for _, turn := range []struct {
		what string
		do   func() error
	}{
		{"brought out", func() error { return s.hubClient.Create(ctx, template) }},
		{"changed", func() error {
			return s.hubClient.Patch(ctx, template, client.RawPatch(types.StrategicMergePatchType, []byte(patch)))
		}},
	} {
		if _, err := s.awaitQuiet(ctx); err != nil {
			return err
		}
		var reported time.Duration
		u, err := s.untilQuiet(ctx, func() error {
			began := time.Now()
			if err := turn.do(); err != nil {
				return fmt.Errorf("writing an application for all clusters: %w", err)
			}
			err := s.awaitRunning(ctx, template, int32(2*at.agents))
			reported = time.Since(began)
			return err
		})
		if err != nil {
			return err
		}
		out.tell(turn.what+": until all clusters report", reported.Seconds(), "s")
		out.tell(turn.what+": until it is quiet", u.seconds, "s")
		out.tell(turn.what+": status writes of the binding", u.server.Requests["PATCH resourcebindings/status"], "")
		out.account(turn.what+": ", "cluster", u, float64(at.agents))
	}
	if err := s.hubClient.Delete(ctx, template); err != nil {
		return fmt.Errorf("deleting the application of all clusters: %w", err)
	}
	_, err := s.awaitQuiet(ctx)
	return err
}

// awaitRunning waits until the status of a template says that all replicas of its current version run.
func (s *system) awaitRunning(ctx context.Context, template *appsv1.Deployment, replicas int32) error {
	for began := time.Now(); ; {
		live := &appsv1.Deployment{}
		if err := s.hubClient.Get(ctx, client.ObjectKeyFromObject(template), live); err != nil {
			return fmt.Errorf("reading an application: %w", err)
		}
		if live.Status.ObservedGeneration >= live.Generation && live.Status.ReadyReplicas == replicas {
			return nil
		}
		if time.Since(began) > waitTimeout {
			return fmt.Errorf("%d of %d replicas run after %s", live.Status.ReadyReplicas, replicas, waitTimeout)
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}
