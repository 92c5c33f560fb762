package monitoring

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/people/view"
	"fairlead.dev/hub/people/view/applications"
	"fairlead.dev/hub/people/view/clusters"
)

// snapshot is what is counted.
type snapshot struct {
	apps []applications.Application
	// namespaces are those of their bindings, in the same order.
	namespaces []string
	clusters   []clusters.Cluster
	// idle is how many policies have nothing.
	idle int
}

// gather reads all of it, from the cache.
func (m *Monitor) gather(ctx context.Context) (*snapshot, error) {
	var fleet clusterv1alpha1.ClusterList
	if err := m.hubClient.List(ctx, &fleet, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing clusters: %w", err)
	}
	var works workv1alpha1.WorkList
	if err := m.hubClient.List(ctx, &works, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing works: %w", err)
	}
	tally := clusters.Tally{}
	for i := range works.Items {
		tally.Add(&works.Items[i])
	}
	out := &snapshot{}
	now := m.clock.Now()
	for i := range fleet.Items {
		c := &fleet.Items[i]
		out.clusters = append(out.clusters, clusters.Of(clusters.Input{Cluster: c, Works: tally.Of(view.ExecutionNamespace(c)), Now: now}))
	}
	known := applications.ClustersOf(fleet.Items)
	for _, kind := range []kube.BindingKind{kube.ResourceBindings(), kube.ClusterResourceBindings()} {
		bindings, err := kind.List(ctx, m.hubClient)
		if err != nil {
			return nil, err
		}
		for _, b := range bindings {
			out.apps = append(out.apps, applications.Of(b, known))
			out.namespaces = append(out.namespaces, b.GetNamespace())
		}
	}
	var err error
	out.idle, err = m.idle(ctx, out.apps)
	return out, err
}

// idle counts the policies that have nothing.
func (m *Monitor) idle(ctx context.Context, apps []applications.Application) (int, error) {
	var near policyv1alpha1.PropagationPolicyList
	if err := m.hubClient.List(ctx, &near, client.UnsafeDisableDeepCopy); err != nil {
		return 0, fmt.Errorf("listing propagationpolicies: %w", err)
	}
	var wide policyv1alpha1.ClusterPropagationPolicyList
	if err := m.hubClient.List(ctx, &wide, client.UnsafeDisableDeepCopy); err != nil {
		return 0, fmt.Errorf("listing clusterpropagationpolicies: %w", err)
	}
	has := map[applications.PolicyKey]bool{}
	for i := range apps {
		has[apps[i].Policy] = true
	}
	idle := 0
	for i := range near.Items {
		if !has[applications.KeyOf(&near.Items[i])] {
			idle++
		}
	}
	for i := range wide.Items {
		if !has[applications.KeyOf(&wide.Items[i])] {
			idle++
		}
	}
	return idle, nil
}
