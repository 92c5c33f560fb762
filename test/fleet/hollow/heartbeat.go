package hollow

import (
	"encoding/json"
	"math/rand/v2"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/clusterstatus/facts"
	"fairlead.dev/agent/setup"
	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
)

// renewRetry is after which time a renewal that failed is tried again.
const renewRetry = 2 * time.Second

// renew renews the lease until the life ends.
func (a *agent) renew(l *life) {
	version, slim := "", false
	// Agents do not all begin at the same instant.
	next := time.Duration(rand.Float64() * float64(a.fleet.options.LeaseInterval))
	for {
		lease, err := a.renewOnce(l, version, slim)
		if err != nil {
			version, next = "", min(renewRetry, a.fleet.options.LeaseInterval)
		} else {
			version, slim = lease.ResourceVersion, len(lease.ManagedFields) == 0
		}
		select {
		case <-l.ctx.Done():
			return
		case <-time.After(next):
			next = a.fleet.options.LeaseInterval
		}
	}
}

// renewOnce writes what a real agent writes: on the version that it left, and without managed fields.
func (a *agent) renewOnce(l *life, version string, slim bool) (*coordinationv1.Lease, error) {
	metadata := map[string]any{}
	if version != "" {
		metadata["resourceVersion"] = version
	} else {
		metadata["annotations"] = map[string]any{contract.SessionAnnotation: "hollow"}
	}
	if !slim {
		metadata["managedFields"] = []any{map[string]any{}}
	}
	data, err := json.Marshal(map[string]any{"metadata": metadata, "spec": map[string]any{
		"holderIdentity": a.name, "leaseDurationSeconds": int(setup.DefaultLeaseDuration.Seconds()), "renewTime": metav1.NowMicro(),
	}})
	if err != nil {
		return nil, err //nolint:wrapcheck // It is tried again, and nobody reads it.
	}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: contract.ClusterNamespace, Name: a.name}}
	return lease, l.hubClient.Patch(l.ctx, lease, client.RawPatch(types.MergePatchType, data), client.FieldOwner(contract.FieldManagerAgent))
}

// defaultRoom is what a member has unless something else is said.
func defaultRoom() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("1k"), corev1.ResourceMemory: resource.MustParse("4Ti"), corev1.ResourcePods: resource.MustParse("10k"),
	}
}

func (a *agent) setRoom(room corev1.ResourceList) {
	a.mu.Lock()
	a.room = room
	a.mu.Unlock()
	a.fleet.queue.Add(task{agent: a})
}

// clusterStore takes what the hub shows of the agent's Cluster.
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

// tellCluster tells the hub how the member is, if it does not know.
func (a *agent) tellCluster(l *life) error {
	a.mu.Lock()
	cluster, room := a.cluster, a.room
	a.mu.Unlock()
	if cluster == nil {
		return nil
	}
	want := cluster.DeepCopy()
	describe(want, room)
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

// describe puts into a Cluster how its member is.
func describe(cluster *clusterv1alpha1.Cluster, room corev1.ResourceList) {
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
	status.ResourceSummary.Allocatable = room
}
