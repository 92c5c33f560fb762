package quotas

import (
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/adjust/quotas/parts"
	"fairlead.dev/test/filled"
)

// BenchmarkManyParts is what it costs to look at a quota of which every cluster has its part, when one of them has told what is used of it.
func BenchmarkManyParts(b *testing.B) {
	for _, n := range []int{1250, 5000} {
		size := filled.Fleet{Clusters: n}
		q := &policyv1alpha1.FederatedResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "all", UID: "u"}}
		r := &Reconciler{events: func(kube.Event) {}, prefix: contract.DefaultExecutionNamespacePrefix, checked: map[types.NamespacedName]int64{}}
		objects := []client.Object{q}
		for i := range n {
			part := policyv1alpha1.StaticClusterAssignment{ClusterName: filled.ClusterName(i), Hard: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}}
			q.Spec.StaticAssignments = append(q.Spec.StaticAssignments, part)
			work, err := parts.Work(q, part, r.prefix)
			if err != nil {
				b.Fatal(err)
			}
			work.Generation = 1
			r.remember(work)
			objects = append(objects, size.Cluster(i), work)
		}
		hub := filled.New(b, cache.Options{}, objects...)
		if err := index(b.Context(), hub.Cache); err != nil {
			b.Fatal(err)
		}
		r.hubClient, r.liveReader = hub.Client, hub.Client
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			b.ReportAllocs()
			cpu := filled.ReportCPU(b)
			for b.Loop() {
				s, err := r.gather(b.Context(), q)
				if err != nil {
					b.Fatal(err)
				}
				if err := r.distribute(b.Context(), s); err != nil {
					b.Fatal(err)
				}
				if got := s.parts(r.prefix); len(got) != n {
					b.Fatal(len(got))
				}
			}
			cpu()
		})
	}
}
