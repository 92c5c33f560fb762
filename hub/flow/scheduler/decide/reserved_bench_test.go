package decide_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/hub/flow/scheduler/decide"
	"fairlead.dev/hub/flow/scheduler/reserve"
	"fairlead.dev/test/filled"
)

// BenchmarkReserved places an application among clusters some of which have reservations, reserves its replicas, and releases them. So the
// clusters that have reservations change from one application to the next.
func BenchmarkReserved(b *testing.B) {
	const clusters = 5000
	for name, change := range map[string]func(*decide.Input){"aggregated": aggregated, "dynamic": byRoom} {
		for _, percent := range []int{0, 50, 100} {
			b.Run(fmt.Sprintf("%s/%d%%", name, percent), func(b *testing.B) {
				in := input(with(shops(clusters)...), change, func(in *decide.Input) {
					in.Spec.Replicas, in.Memo = 100, &decide.Memo{}
					in.Spec.ReplicaRequirements = &workv1alpha2.ReplicaRequirements{ResourceRequest: corev1.ResourceList{
						corev1.ResourceCPU: resource.MustParse("250m"), corev1.ResourceMemory: resource.MustParse("256Mi"),
					}}
					in.Spec.Placement.ClusterAffinity = &policyv1alpha1.ClusterAffinity{LabelSelector: &metav1.LabelSelector{}}
					in.Spec.Placement.ClusterTolerations = []corev1.Toleration{{Key: "k", Operator: corev1.TolerationOpExists}}
				})
				ledger, now, request := reserve.New(), time.Unix(1000, 0), in.Spec.ReplicaRequirements.ResourceRequest
				for i, c := range in.Clusters {
					if i%100 < percent {
						ledger.Assign(types.NamespacedName{Namespace: "shop", Name: "before"}, nil, []workv1alpha2.TargetCluster{target(c.Name, 1)}, request, now)
					}
				}
				web := types.NamespacedName{Namespace: "shop", Name: "web"}
				b.ReportAllocs()
				cpu := filled.ReportCPU(b)
				for b.Loop() {
					in.Assumed = ledger.All(now)
					d := decide.Decide(in)
					if d.Outcome != decide.Scheduled {
						b.Fatal(d.Message)
					}
					ledger.Assign(web, nil, d.Targets, request, now)
					ledger.Assign(web, d.Targets, nil, request, now)
				}
				cpu()
			})
		}
	}
}
