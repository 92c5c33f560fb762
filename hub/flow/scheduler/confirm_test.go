package scheduler

import (
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
)

// A cluster to which this hub propagates the API is not rejected for lacking it. If it still counted as having lost the API, a decision
// that drops it for another reason would wait for ever for a cache that is not behind. The same holds for a target that serves the kind in
// another version.
func TestAClusterThatGetsTheAPIHasNotLostIt(t *testing.T) {
	t.Parallel()
	cluster := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "edge-1"}}
	meta.SetStatusCondition(&cluster.Status.Conditions, metav1.Condition{
		Type: clusterv1alpha1.ClusterCompleteAPIEnablements, Status: metav1.ConditionTrue, Reason: "Complete",
	})
	clusters := []*clusterv1alpha1.Cluster{cluster}
	upgraded := cluster.DeepCopy()
	upgraded.Status.APIEnablements = []clusterv1alpha1.APIEnablement{{
		GroupVersion: "shop.example.com/v2", Resources: []clusterv1alpha1.APIResource{{Kind: "Till"}},
	}}
	for name, tt := range map[string]struct {
		by   basis
		want int
	}{
		"it lacks the kind":                {basis{clusters: clusters, byAPI: true}, 1},
		"it gets the kind from this hub":   {basis{clusters: clusters, byAPI: true, pending: bindings.ClustersOf([]workv1alpha2.TargetCluster{{Name: "edge-1"}})}, 0},
		"another one does":                 {basis{clusters: clusters, byAPI: true, pending: bindings.ClustersOf([]workv1alpha2.TargetCluster{{Name: "edge-2"}})}, 1},
		"nobody asked what it serves":      {basis{clusters: clusters}, 0},
		"it serves another version of it":  {basis{clusters: []*clusterv1alpha1.Cluster{upgraded}, byAPI: true}, 0},
		"the decision saw no such cluster": {basis{byAPI: true}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := &workv1alpha2.ResourceBindingSpec{}
			spec.Clusters = []workv1alpha2.TargetCluster{{Name: "edge-1"}}
			spec.Resource.APIVersion, spec.Resource.Kind = "shop.example.com/v1", "Till"
			NewWithT(t).Expect(lostAPI(spec, sets.New("edge-1"), &tt.by)).To(HaveLen(tt.want))
		})
	}
}
