package hollow

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/clusterstatus/facts"
	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
)

// clusterStore receives the agent's Cluster from its watch.
type clusterStore struct {
	ignore

	agent *agent
}

func (s *clusterStore) Add(obj any) error    { return s.Update(obj) }
func (s *clusterStore) Update(obj any) error { s.agent.see(obj); return nil }

func (s *clusterStore) Replace(objs []any, _ string) error {
	for _, obj := range objs {
		s.agent.see(obj)
	}
	return nil
}

func (a *agent) see(obj any) {
	cluster, ok := obj.(*clusterv1alpha1.Cluster)
	if !ok {
		return
	}
	a.mu.Lock()
	a.cluster = cluster
	a.mu.Unlock()
	a.fleet.queue.Add(task{agent: a})
}

// tellCluster writes the status of the member's Cluster if the hub does not have it yet.
func (a *agent) tellCluster(l *life) error {
	a.mu.Lock()
	cluster, room, allocated := a.cluster, a.room, a.allocated()
	a.mu.Unlock()
	if cluster == nil {
		return nil
	}
	want := cluster.DeepCopy()
	describe(want, room, allocated)
	if equality.Semantic.DeepEqual(cluster.Status, want.Status) {
		a.tellOnce.Do(func() { close(a.told) })
		return nil
	}
	if err := l.hubClient.Status().Patch(l.ctx, want, client.MergeFrom(cluster), client.FieldOwner(contract.FieldManagerAgent)); err != nil {
		return err //nolint:wrapcheck // It is tried again, and nobody reads it.
	}
	a.tellOnce.Do(func() { close(a.told) })
	return nil
}

// describe sets the status of a Cluster from its member.
func describe(cluster *clusterv1alpha1.Cluster, room, allocated corev1.ResourceList) {
	status := &cluster.Status
	enablements := []clusterv1alpha1.APIEnablement{
		{GroupVersion: "apps/v1", Resources: []clusterv1alpha1.APIResource{{Name: "deployments", Kind: "Deployment"}, {Name: "statefulsets", Kind: "StatefulSet"}}},
		{GroupVersion: "batch/v1", Resources: []clusterv1alpha1.APIResource{{Name: "jobs", Kind: "Job"}}},
		{GroupVersion: "rbac.authorization.k8s.io/v1", Resources: []clusterv1alpha1.APIResource{{Name: "clusterroles", Kind: "ClusterRole"}}},
		{GroupVersion: "v1", Resources: []clusterv1alpha1.APIResource{
			{Name: "configmaps", Kind: "ConfigMap"},
			{Name: "namespaces", Kind: "Namespace"},
			{Name: "secrets", Kind: "Secret"},
			{Name: "serviceaccounts", Kind: "ServiceAccount"},
			{Name: "services", Kind: "Service"},
		}},
	}
	for _, condition := range []metav1.Condition{facts.Ready(facts.Probe{Answered: true, Code: 200}), facts.Complete(enablements, false)} {
		condition.ObservedGeneration = cluster.Generation
		condition.LastTransitionTime = metav1.Now().Rfc3339Copy()
		meta.SetStatusCondition(&status.Conditions, condition)
	}
	status.KubernetesVersion, status.APIEnablements = "v1.35.0", enablements
	status.NodeSummary = &clusterv1alpha1.NodeSummary{TotalNum: 3, ReadyNum: 3}
	if status.ResourceSummary == nil {
		status.ResourceSummary = &clusterv1alpha1.ResourceSummary{}
	}
	status.ResourceSummary.Allocatable, status.ResourceSummary.Allocated = room, allocated
}
