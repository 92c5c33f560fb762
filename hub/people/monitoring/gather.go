package monitoring

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/people/view"
	"fairlead.dev/hub/people/view/applications"
	"fairlead.dev/hub/people/view/clusters"
)

// snapshot is the state of the fleet that one scrape reports.
type snapshot struct {
	apps []*applications.Application
	// namespaces are the namespaces of the applications' bindings, in the same order.
	namespaces []string
	clusters   []clusters.Cluster
	// noted is, for each of notedConditions, the number of clusters on which it is true.
	noted  map[string]int
	behind behind
	// idle is the number of policies that match nothing.
	idle int
}

// gather reads a snapshot from the cache.
func (m *Monitor) gather(ctx context.Context) (*snapshot, error) {
	fleet, err := kube.Clusters(ctx, m.hubClient)
	if err != nil {
		return nil, err
	}
	works, err := kube.Works(ctx, m.hubClient)
	if err != nil {
		return nil, err
	}
	clusterOf := make(map[string]string, len(fleet)) // by its execution namespace
	for _, c := range fleet {
		clusterOf[view.ExecutionNamespace(c)] = c.Name
	}
	out := &snapshot{behind: behind{}, noted: countConditions(fleet)}
	tally := clusters.Tally{}
	for _, work := range works {
		tally.Add(work)
		out.behind.add(clusterOf[work.Namespace], work)
	}
	now := m.clock.Now()
	known := make(applications.Clusters, len(fleet))
	for _, c := range fleet {
		known[c.Name] = applications.FreshnessOf(c)
		out.clusters = append(out.clusters, clusters.Of(clusters.Input{Cluster: c, Works: tally.Of(view.ExecutionNamespace(c)), Now: now}))
	}
	var bindings []kube.Binding
	for _, kind := range []kube.BindingKind{kube.ResourceBindings(), kube.ClusterResourceBindings()} {
		found, err := kind.List(ctx, m.hubClient)
		if err != nil {
			return nil, err
		}
		bindings = append(bindings, found...)
	}
	out.apps, _ = m.memo.of(bindings, known)
	out.namespaces = make([]string, len(bindings))
	for i, b := range bindings {
		out.namespaces[i] = b.GetNamespace()
	}
	out.idle, err = m.idle(ctx, out.apps)
	return out, err
}

// notedConditions are the conditions of a Cluster that need a person's attention although the Cluster is Ready.
func notedConditions() []string {
	return []string{
		clusterv1alpha1.ClusterSeveralAgents, clusterv1alpha1.ClusterRightsWithheld, clusterv1alpha1.ClusterCapacityJumped, clusterv1alpha1.ClusterCapacityUnknown,
	}
}

// countConditions counts the clusters on which each of notedConditions is true now. Silent clusters are left to the
// metric of their state.
func countConditions(fleet []*clusterv1alpha1.Cluster) map[string]int {
	out := map[string]int{}
	for _, c := range fleet {
		for _, condition := range notedConditions() {
			if c.DeletionTimestamp.IsZero() && clusters.SaysNow(c, condition) {
				out[condition]++
			}
		}
	}
	return out
}

// idle counts the policies that match nothing.
func (m *Monitor) idle(ctx context.Context, apps []*applications.Application) (int, error) {
	var near policyv1alpha1.PropagationPolicyList
	if err := m.hubClient.List(ctx, &near, client.UnsafeDisableDeepCopy); err != nil {
		return 0, fmt.Errorf("listing propagationpolicies: %w", err)
	}
	var wide policyv1alpha1.ClusterPropagationPolicyList
	if err := m.hubClient.List(ctx, &wide, client.UnsafeDisableDeepCopy); err != nil {
		return 0, fmt.Errorf("listing clusterpropagationpolicies: %w", err)
	}
	has := map[applications.PolicyKey]bool{}
	for _, a := range apps {
		has[a.Policy] = true
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
