package scheduler

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/evictions"
	"fairlead.dev/hub/flow/scheduler/decide"
	"fairlead.dev/test/builder"
)

// TestABindingThatIsFullIsLeft: a hub before this one wrote all of a placement into an annotation, and others may be as long as a tenant
// likes. What the API server takes is enough to say that the application leaves a cluster that its namespace may not use any more.
func TestABindingThatIsFullIsLeft(t *testing.T) {
	t.Parallel()
	for name, longPlacement := range map[string]bool{"of its placement": true, "of something else": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			var clusters []*clusterv1alpha1.Cluster
			for _, name := range []string{"a", "b"} {
				c := builder.MakeCluster(name).Obj()
				c.Labels = map[string]string{"in": name}
				c.Status.APIEnablements = []clusterv1alpha1.APIEnablement{{GroupVersion: "apps/v1", Resources: []clusterv1alpha1.APIResource{{Kind: "Deployment"}}}}
				clusters = append(clusters, c)
			}
			placement := &policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"a", "b"}}}
			if longPlacement {
				for i := range 8700 {
					placement.ClusterAffinity.ClusterNames = append(placement.ClusterAffinity.ClusterNames, fmt.Sprintf("%027d", i))
				}
			}
			applied, err := json.Marshal(placement)
			g.Expect(err).NotTo(HaveOccurred())
			b := &workv1alpha2.ResourceBinding{
				ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{contract.AppliedPlacementAnnotation: string(applied)}},
				Spec: workv1alpha2.ResourceBindingSpec{
					Resource: workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment"}, Replicas: 2, Placement: placement,
					Clusters: []workv1alpha2.TargetCluster{{Name: "a", Replicas: 2}, {Name: "b", Replicas: 2}},
				},
			}
			const key = "example.com/pad"
			b.Annotations[key] = strings.Repeat("x", contract.MaxAnnotations-len(applied)-len(contract.AppliedPlacementAnnotation)-len(key)-50)
			namespace := &metav1.ObjectMeta{Name: "shop", Annotations: map[string]string{contract.ClustersAnnotation: "in=a"}}

			d := decide.Decide(decide.InputOf(b, decide.World{Clusters: clusters, Namespace: namespace}))
			_, err = record(b, d, metav1.NewTime(time.Unix(1000, 0)))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(validation.ValidateAnnotationsSize(b.Annotations)).To(Succeed())
			g.Expect(b.Spec.Clusters).To(HaveExactElements(HaveField("Name", "a")))
			g.Expect(b.Spec.GracefulEvictionTasks).To(HaveExactElements(HaveField("FromCluster", "b")))
			if longPlacement {
				g.Expect(evictions.Of(b)).To(HaveExactElements(HaveField("From", "b")), "there is room for that, too")
			}
		})
	}
}
