package binding

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
)

// workOf returns the Work of a template in cluster edge-1, of any binding.
func workOf(manifest string) *workv1alpha1.Work {
	out := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{
		Namespace: "karmada-es-edge-1", Name: "web", Annotations: map[string]string{
			contract.ResourceBindingNamespaceAnnotation: "shop", contract.ResourceBindingNameAnnotation: "web-kind",
		},
	}}
	out.Spec.Workload.Manifests = []workv1alpha1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(manifest)}}}
	return out
}

func TestTakeBack(t *testing.T) {
	t.Parallel()
	const (
		settings   = `{"apiVersion":"v1","kind":"ConfigMap"}`
		namespace  = `{"apiVersion":"v1","kind":"Namespace"}`
		definition = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","spec":{"scope":"Namespaced","names":{"kind":"Mill"},"versions":[{"name":"v1"}]}}`
		newer      = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","spec":{"scope":"Namespaced","names":{"kind":"Mill"},"versions":[{"name":"v1"},{"name":"v2"}]}}`
		everywhere = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","spec":{"scope":"Cluster","names":{"kind":"Mill"},"versions":[{"name":"v1"}]}}`
	)
	held := metav1.Condition{Type: clusterv1alpha1.ClusterDeletionsHeld, Status: metav1.ConditionTrue}
	for name, tc := range map[string]struct {
		before, after string
		conditions    []metav1.Condition
		want          bool
	}{
		"while deletions are held":                   {before: settings, after: settings, conditions: []metav1.Condition{held}, want: true},
		"not otherwise":                              {before: settings, after: settings},
		"a Namespace always":                         {before: namespace, after: namespace, want: true},
		"a definition always":                        {before: definition, after: definition, want: true},
		"a definition with an additional version":    {before: definition, after: newer, want: true},
		"not a definition that lost a version":       {before: newer, after: definition},
		"not a definition of another scope":          {before: definition, after: everywhere, conditions: []metav1.Condition{held}},
		"not an object of another group":             {before: `{"apiVersion":"serving.knative.dev/v1","kind":"Service"}`, after: `{"apiVersion":"v1","kind":"Service"}`, conditions: []metav1.Condition{held}},
		"not a custom kind that is called Namespace": {before: `{"apiVersion":"example.com/v1","kind":"Namespace"}`, after: `{"apiVersion":"example.com/v1","kind":"Namespace"}`},
		"not an object without a kind":               {before: `{}`, after: `{}`, conditions: []metav1.Condition{held}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			scheme, err := kube.NewScheme()
			g.Expect(err).NotTo(HaveOccurred())
			live := workOf(tc.before)
			live.Annotations[contract.DeletionIntentAnnotation] = contract.DeletionRemoved
			edge := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "edge-1"}}
			edge.Status.Conditions = tc.conditions
			hub := fake.NewClientBuilder().WithScheme(scheme).WithObjects(edge, live.DeepCopy()).Build()
			r := &reconciler{hubClient: hub, hubReader: hub, prefix: "karmada-es-"}
			g.Expect(r.takeBack(t.Context(), live, workOf(tc.after))).To(Succeed())
			g.Expect(hub.Get(t.Context(), client.ObjectKeyFromObject(live), live)).To(Succeed())
			g.Expect(contract.DeletionIntended(live.Annotations)).To(Equal(!tc.want))
		})
	}
}

func TestFailedTakeBackIsRetried(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	scheme, err := kube.NewScheme()
	g.Expect(err).NotTo(HaveOccurred())
	lost := errors.New("the connection was lost")
	live := workOf(`{"apiVersion":"v1","kind":"Namespace"}`)
	live.Annotations[contract.DeletionIntentAnnotation] = contract.DeletionRemoved
	live.Finalizers, live.DeletionTimestamp = []string{contract.ExecutionFinalizer}, new(metav1.Now())
	hub := fake.NewClientBuilder().WithScheme(scheme).WithObjects(live.DeepCopy()).WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return lost
		},
	}).Build()
	r := &reconciler{hubClient: hub, hubReader: hub, prefix: "karmada-es-"}
	g.Expect(r.adopt(t.Context(), id, workOf(`{"apiVersion":"v1","kind":"Namespace"}`))).To(And(MatchError(lost), Not(MatchError(errTerminating))))
}
