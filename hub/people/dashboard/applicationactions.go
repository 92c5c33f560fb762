package dashboard

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1alpha1 "fairlead.dev/common/api/apps/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/people/auth"
)

func rebalances() auth.Access {
	return auth.Access{Verb: "create", Group: appsv1alpha1.GroupVersion.Group, Resource: "workloadrebalancers"}
}

func (s *Server) askRebalance(ctx context.Context, v *visit) (*question, error) {
	a, err := s.readApplication(ctx, v)
	if err != nil {
		return nil, err
	}
	if err := v.user.Require(ctx, rebalances()); err != nil {
		return nil, err
	}
	return &question{
		Title: "Rebalance " + a.Name + "?", Button: "Rebalance", Back: appPath(a.Namespace, a.Binding), Danger: true,
		Text:    "Its clusters are chosen from scratch: replicas may move from clusters where they run well to clusters that have more room now.",
		Warning: "Copies that are moved are stopped where they run.",
	}, nil
}

func (s *Server) doRebalance(ctx context.Context, v *visit) (string, string, error) {
	a, err := s.readApplication(ctx, v)
	if err != nil {
		return "", "", err
	}
	const keep = 3600 // seconds for which the WorkloadRebalancer is kept for inspection
	ttl := int32(keep)
	request := &appsv1alpha1.WorkloadRebalancer{
		ObjectMeta: metav1.ObjectMeta{GenerateName: a.Binding[:min(len(a.Binding), 40)] + "-"},
		Spec: appsv1alpha1.WorkloadRebalancerSpec{
			Workloads:               []appsv1alpha1.ObjectReference{{APIVersion: a.APIVersion, Kind: a.Kind, Namespace: a.Namespace, Name: a.Name}},
			TTLSecondsAfterFinished: &ttl,
		},
	}
	if err := v.user.Hub.Create(ctx, request, client.FieldOwner(contract.FieldManagerDashboard)); err != nil {
		return "", "", fmt.Errorf("asking for a rebalance of %s: %w", a.Template, err)
	}
	return fmt.Sprintf("Created WorkloadRebalancer %s. The clusters are chosen from scratch in a moment.", request.Name), appPath(a.Namespace, a.Binding), nil
}
