package quotas

import (
	"encoding/json"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/hub/adjust/quotas/parts"
	"fairlead.dev/test/filled"
)

// BenchmarkManyParts measures the reconcile of a quota of which every cluster has a part and reports its usage, after a
// change of a binding that does not change the usage.
func BenchmarkManyParts(b *testing.B) {
	for _, n := range []int{1250, 5000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			r, q := everywhere(b, n)
			b.ReportAllocs()
			cpu := filled.ReportCPU(b)
			for b.Loop() {
				if _, err := r.Reconcile(b.Context(), requestFor(q)); err != nil {
					b.Fatal(err)
				}
			}
			cpu()
		})
	}
}

// everywhere returns the stage on a hub with a quota that n clusters have a part of, and nothing to do.
func everywhere(b *testing.B, n int) (*Reconciler, *policyv1alpha1.FederatedResourceQuota) {
	b.Helper()
	size, two := filled.Fleet{Clusters: n}, corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceServices: resource.MustParse("3")}
	q := &policyv1alpha1.FederatedResourceQuota{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "all", UID: "u", Generation: 1, ResourceVersion: "1", Finalizers: []string{contract.QuotaFinalizer},
	}}
	q.Spec.Overall = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("9000"), corev1.ResourceServices: resource.MustParse("90000")}
	r := &Reconciler{
		events: func(eventsink.Event) {}, prefix: contract.DefaultExecutionNamespacePrefix,
		checked: map[types.NamespacedName]check{}, reports: map[types.NamespacedName]*parts.Reports{},
	}
	web := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	web.Spec.Replicas, web.Spec.ReplicaRequirements = 1, &workv1alpha2.ReplicaRequirements{ResourceRequest: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}}
	web.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: filled.ClusterName(0), Replicas: 1}}
	objects, told := []client.Object{q, web}, []parts.Part(nil)
	reported, err := json.Marshal(corev1.ResourceQuotaStatus{Hard: two, Used: two})
	if err != nil {
		b.Fatal(err)
	}
	for i := range n {
		part := policyv1alpha1.StaticClusterAssignment{ClusterName: filled.ClusterName(i), Hard: two}
		q.Spec.StaticAssignments = append(q.Spec.StaticAssignments, part)
		work, err := parts.Work(q, part, r.prefix)
		if err != nil {
			b.Fatal(err)
		}
		work.Generation, work.UID, work.ResourceVersion = 1, types.UID(strconv.Itoa(i)), strconv.Itoa(i+1)
		work.Status.Conditions = []metav1.Condition{{Type: workv1alpha1.WorkApplied, Status: metav1.ConditionTrue}}
		work.Status.ManifestStatuses = []workv1alpha1.ManifestStatus{{
			Identifier: workv1alpha1.ResourceIdentifier{Version: "v1", Kind: "ResourceQuota", Namespace: q.Namespace, Name: q.Name},
			Status:     &runtime.RawExtension{Raw: reported},
		}}
		r.remember(q, work)
		objects, told = append(objects, size.Cluster(i), work), append(told, parts.Part{Cluster: part.ClusterName, Hard: two, Work: work})
	}
	q.Status = new(parts.Reports).Status(q, []workv1alpha2.Binding{web}, told)
	hub := filled.New(b, cache.Options{}, objects...)
	if err := index(b.Context(), hub.Cache); err != nil {
		b.Fatal(err)
	}
	r.hubClient, r.liveReader = hub.Client, hub.Client
	return r, q
}
