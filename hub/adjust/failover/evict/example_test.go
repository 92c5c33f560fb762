package evict_test

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/hub/adjust/failover/evict"
	"fairlead.dev/test/builder"
)

// A cluster gets a NoExecute taint that is tolerated for five minutes: the application leaves once they have passed,
// and not before.
func ExampleDecide() {
	tainted := time.Date(2026, time.March, 1, 9, 0, 0, 0, time.UTC)
	cluster := builder.MakeCluster("shop-rome").Taint("example.com/closing", corev1.TaintEffectNoExecute).Obj()
	cluster.Spec.Taints[0].TimeAdded = &metav1.Time{Time: tainted}
	in := evict.Input{
		Generation: 1, Namespaced: true,
		Spec: &workv1alpha2.ResourceBindingSpec{
			Resource: workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"},
			Replicas: 2, Clusters: []workv1alpha2.TargetCluster{{Name: "shop-rome", Replicas: 2}},
		},
		Status: &workv1alpha2.ResourceBindingStatus{},
		Tolerations: []corev1.Toleration{{
			Key: "example.com/closing", Operator: corev1.TolerationOpExists, TolerationSeconds: new(int64(300)),
		}},
		Clusters:          map[string]*clusterv1alpha1.Cluster{"shop-rome": cluster},
		CouldPlaceWithout: func([]string) bool { return true },
		RateLimit:         func(string) time.Duration { return 0 },
	}
	for _, after := range []time.Duration{time.Minute, 6 * time.Minute} {
		in.Now = tainted.Add(after)
		decision := evict.Decide(in)
		for _, eviction := range decision.Evictions {
			fmt.Printf("after %s it leaves %s\n", after, eviction.Task.FromCluster)
		}
		if !decision.Changes() {
			fmt.Printf("after %s it stays, and is looked at again in %s\n", after, decision.RecheckAfter)
		}
	}
	// Output:
	// after 1m0s it stays, and is looked at again in 4m0s
	// after 6m0s it leaves shop-rome
}
