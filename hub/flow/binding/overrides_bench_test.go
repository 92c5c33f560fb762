package binding

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/kube"
	"fairlead.dev/test/filled"
)

// BenchmarkOverridePolicies measures how long it takes to find the override policies of one template, as each rendering does, among a
// growing number of policies for other templates. Each template has two.
func BenchmarkOverridePolicies(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		size := filled.Fleet{Clusters: 1, Bindings: n, Namespaces: 1}
		var objects []client.Object
		for i := range n {
			of := size.Binding(i).Spec.Resource
			meta := metav1.ObjectMeta{Namespace: of.Namespace, Name: fmt.Sprintf("of-%05d", i), UID: of.UID, Generation: 1}
			spec := policyv1alpha1.OverrideSpec{
				ResourceSelectors: []policyv1alpha1.ResourceSelector{{APIVersion: of.APIVersion, Kind: of.Kind, Namespace: of.Namespace, Name: of.Name}},
				OverrideRules:     make([]policyv1alpha1.RuleWithCluster, 1),
			}
			wide := meta
			wide.Namespace = ""
			objects = append(objects, &policyv1alpha1.OverridePolicy{ObjectMeta: meta, Spec: spec}, &policyv1alpha1.ClusterOverridePolicy{ObjectMeta: wide, Spec: spec})
		}
		hub := filled.New(b, cache.Options{}, objects...).Client
		of := size.Binding(0).Spec.Resource
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			cpu := filled.ReportCPU(b)
			for b.Loop() {
				found, err := kube.OverridePolicies(b.Context(), hub, &of)
				if err != nil || len(found.Cluster) != 1 || len(found.Namespaced) != 1 {
					b.Fatal(found, err)
				}
			}
			cpu()
		})
	}
}
