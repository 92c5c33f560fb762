package binding

import (
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/flow/binding/fanout"
)

// TestKeepUnreplaced moves an application from edge-1 to edge-2 while no Works are created.
func TestKeepUnreplaced(t *testing.T) {
	t.Parallel()
	cluster := func(name string) *clusterv1alpha1.Cluster {
		return &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"cluster": name}}}
	}
	arrived := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Namespace: "karmada-es-edge-2"}}
	for name, tc := range map[string]struct {
		intent string
		// mayUse selects the clusters that the application's namespace may use; empty means all.
		mayUse string
		// live are the Works of the targets.
		live []*workv1alpha1.Work
		// proceeds says that no edit waits for the detector any more.
		proceeds bool
		// terminating says that the namespace is being deleted.
		terminating bool
		want        bool
	}{
		"a move waits": {intent: contract.DeletionMoved},
		"a move proceeds once the new Work exists":          {intent: contract.DeletionMoved, live: []*workv1alpha1.Work{arrived}, want: true},
		"a move proceeds once edits are sent":               {intent: contract.DeletionMoved, proceeds: true, want: true},
		"a move waits in a namespace that is being deleted": {intent: contract.DeletionMoved, proceeds: true, terminating: true},
		"an eviction proceeds":                              {intent: contract.DeletionEvicted, want: true},
		"a deletion with the cluster proceeds":              {intent: contract.DeletionClusterLeft, want: true},
		"a move out of a refused cluster proceeds":          {intent: contract.DeletionMoved, mayUse: "cluster=edge-2", want: true},
		"a move out of an allowed cluster waits":            {intent: contract.DeletionMoved, mayUse: "cluster in (edge-1, edge-2)"},
		"a move waits if all clusters are refused":          {intent: contract.DeletionMoved, mayUse: "cluster=nowhere"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			scheme, err := kube.NewScheme()
			g.Expect(err).NotTo(HaveOccurred())
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
			if tc.mayUse != "" {
				namespace.Annotations = map[string]string{contract.ClustersAnnotation: tc.mayUse}
			}
			hub := fake.NewClientBuilder().WithScheme(scheme).WithObjects(cluster("edge-1"), cluster("edge-2"), namespace).Build()
			r := &reconciler{hubClient: hub, hubReader: hub, prefix: "karmada-es-"}
			s := &scope{
				terminating: tc.terminating, targets: []workv1alpha2.TargetCluster{{Name: "edge-2"}}, live: byNamespace(tc.live),
				clusters: map[string]*clusterv1alpha1.Cluster{"edge-2": cluster("edge-2")},
			}
			if !tc.proceeds {
				s.unseen.Since = metav1.Now().Time
			}
			plan := fanout.Plan{Delete: []fanout.Deletion{{Live: workOf(`{"apiVersion":"apps/v1","kind":"Deployment"}`), Intent: tc.intent}}}
			g.Expect(r.keepUnreplaced(t.Context(), s, &plan)).To(Succeed())
			g.Expect(len(plan.Delete) > 0).To(Equal(tc.want))
		})
	}
}
