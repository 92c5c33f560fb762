package scheduler

import (
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/flow/scheduler/hints"
	"fairlead.dev/test/builder"
)

// asked is a queue that remembers which bindings are to be looked at.
type asked struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	names []string
}

func (a *asked) Add(r reconcile.Request)                   { a.names = append(a.names, r.Name) }
func (a *asked) AddAfter(reconcile.Request, time.Duration) {}

// TestAChangeOfAnAPIWakesApplicationsOfItsKinds tells a scheduler of one thing that a cluster serves otherwise than before.
func TestAChangeOfAnAPIWakesApplicationsOfItsKinds(t *testing.T) {
	t.Parallel()
	binding := func(name, apiVersion, kind, waits string, clusters ...string) client.Object {
		b := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name, Labels: map[string]string{contract.PropagationPolicyPermanentIDLabel: "some-id"},
		}}
		b.Spec.Resource.APIVersion, b.Spec.Resource.Kind = apiVersion, kind
		b.Spec.Placement = &policyv1alpha1.Placement{}
		c := metav1.Condition{Type: workv1alpha2.BindingScheduled, Status: metav1.ConditionTrue, Reason: workv1alpha2.ReasonScheduledSuccess}
		if waits != "" {
			c.Status, c.Reason = metav1.ConditionFalse, waits
		}
		meta.SetStatusCondition(&b.Status.Conditions, c)
		for _, name := range clusters {
			b.Spec.Clusters = append(b.Spec.Clusters, workv1alpha2.TargetCluster{Name: name})
		}
		return b
	}
	all := []client.Object{
		binding("till-waits", "shop.example.com/v1", "Till", workv1alpha2.ReasonNoClusterFit),
		binding("till-v2-waits", "shop.example.com/v2", "Till", workv1alpha2.ReasonNoClusterFit),
		binding("till-there", "shop.example.com/v1", "Till", "", "edge-1"),
		binding("till-elsewhere", "shop.example.com/v1", "Till", "", "edge-2"),
		binding("desk-waits", "shop.example.com/v1", "Desk", workv1alpha2.ReasonNoClusterFit),
		binding("web-there", "apps/v1", "Deployment", "", "edge-1"),
		binding("web-elsewhere", "apps/v1", "Deployment", "", "edge-2"),
		binding("web-waits", "apps/v1", "Deployment", workv1alpha2.ReasonUnschedulable),
	}
	serves := func(c *clusterv1alpha1.Cluster, groupVersion, kind string) {
		c.Status.APIEnablements = append(c.Status.APIEnablements, clusterv1alpha1.APIEnablement{
			GroupVersion: groupVersion, Resources: []clusterv1alpha1.APIResource{{Name: kind, Kind: kind}},
		})
	}
	tests := map[string]struct {
		change func(*clusterv1alpha1.Cluster)
		want   []string
	}{
		"a kind": {
			func(c *clusterv1alpha1.Cluster) { serves(c, "shop.example.com/v1", "Till") },
			[]string{"till-elsewhere", "till-there", "till-v2-waits", "till-waits"},
		},
		"a kind of which there is nothing": {func(c *clusterv1alpha1.Cluster) { serves(c, "metrics.k8s.io/v1", "Pods") }, nil},
		"a kind less":                      {func(c *clusterv1alpha1.Cluster) { c.Status.APIEnablements = c.Status.APIEnablements[:1] }, []string{"desk-waits"}},
		"a kind, and room": {
			func(c *clusterv1alpha1.Cluster) {
				serves(c, "metrics.k8s.io/v1", "Pods")
				c.Status.ResourceSummary = &clusterv1alpha1.ResourceSummary{AllocatableModelings: []clusterv1alpha1.AllocatableModeling{{Grade: 1, Count: 1}}}
			},
			[]string{"web-waits"},
		},
		"all of its APIs": {
			func(c *clusterv1alpha1.Cluster) {
				meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: clusterv1alpha1.ClusterCompleteAPIEnablements, Status: metav1.ConditionTrue})
			},
			[]string{"desk-waits", "till-there", "till-v2-waits", "till-waits", "web-waits"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, r, q := NewWithT(t), newAccounting(t, all...), &asked{}
			before := builder.MakeCluster("edge-1").Obj()
			serves(before, "apps/v1", "Deployment")
			serves(before, "shop.example.com/v1", "Desk")
			after := before.DeepCopy()
			tt.change(after)
			r.wake(hints.Of(before, after), q)
			g.Expect(r.wakeConcerned(t.Context())).To(Succeed())
			slices.Sort(q.names)
			g.Expect(slices.Compact(q.names)).To(Equal(tt.want))
		})
	}
}
