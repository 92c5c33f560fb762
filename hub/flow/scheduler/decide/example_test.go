package decide_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/hub/flow/scheduler/decide"
	"fairlead.dev/test/builder"
)

// Three replicas are divided among the clusters that the placement selects. One of them has twice the weight of the other.
func ExampleDecide() {
	deployments := []clusterv1alpha1.APIEnablement{
		{GroupVersion: "apps/v1", Resources: []clusterv1alpha1.APIResource{{Name: "deployments", Kind: "Deployment"}}},
	}
	clusters := []*clusterv1alpha1.Cluster{
		builder.MakeCluster("shop-berlin").Obj(),
		builder.MakeCluster("shop-oslo").Obj(),
		builder.MakeCluster("shop-rome").Taint("example.com/stocktaking", corev1.TaintEffectNoSchedule).Obj(),
	}
	for _, c := range clusters {
		c.Status.APIEnablements = deployments
	}
	policy := builder.MakePolicy("shop", "web").Weight("shop-berlin", 2).Weight("shop-oslo", 1).Obj()

	decision := decide.Decide(decide.Input{
		Spec: &workv1alpha2.ResourceBindingSpec{
			Resource:  workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"},
			Replicas:  3,
			Placement: &policy.Spec.Placement,
		},
		Clusters: clusters,
		Explain:  true,
	})
	for _, verdict := range decision.Attempts[0].Verdicts {
		if verdict.Target {
			fmt.Println(verdict.Cluster, "gets", verdict.Replicas)
		} else {
			fmt.Println(verdict.Cluster, "gets none:", verdict.Filter, verdict.Reason)
		}
	}
	// Output:
	// shop-berlin gets 2
	// shop-oslo gets 1
	// shop-rome gets none: TaintToleration cluster(s) had untolerated taint {example.com/stocktaking:NoSchedule}
}
