package dependencies

import (
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/hub/flow/dependencies/attach"
	"fairlead.dev/hub/flow/dependencies/plan"
	"fairlead.dev/test/builder"
)

// TestDeletedDependencyStaysWithPreservedWorkload deletes an object that two workloads need. One of them is preserved, perhaps only
// by its present policy. The garbage collector has not deleted the object's binding yet. Whichever workload is reconciled first, the object
// must stay where the preserved one is.
func TestDeletedDependencyStaysWithPreservedWorkload(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		// noted says that the workload's binding says that it is preserved, byNow that its policy does.
		noted, byNow bool
		// there says that the object exists, and that the workloads do not need it any more.
		there bool
		first string
		want  bool
	}{
		"the preserved workload first":                                               {noted: true, first: "web-deployment", want: true},
		"the preserved workload last":                                                {noted: true, first: "api-deployment", want: true},
		"the workload preserved by its policy first":                                 {byNow: true, first: "web-deployment", want: true},
		"the workload preserved by its policy last":                                  {byNow: true, first: "api-deployment", want: true},
		"no workload is preserved":                                                   {first: "web-deployment"},
		"the object exists and the preserved workload does not need it":              {noted: true, there: true, first: "web-deployment"},
		"the object exists and the preserved workload is the last one":               {noted: true, there: true, first: "api-deployment"},
		"the object exists and the workload preserved by its policy is the last one": {byNow: true, there: true, first: "api-deployment"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			web, api := follower("web"), follower("api")
			if tc.noted {
				web.Spec.PreserveResourcesOnDeletion = new(true)
			}
			policy := builder.MakePolicy("shop", "all").Select("apps/v1", "Deployment", "web").Obj()
			policy.Labels, policy.Spec.PreserveResourcesOnDeletion = map[string]string{contract.PropagationPolicyPermanentIDLabel: "policy-1"}, &tc.byNow
			web.Labels = map[string]string{contract.PropagationPolicyPermanentIDLabel: "policy-1"}
			web.Annotations = map[string]string{contract.PropagationPolicyNamespaceAnnotation: "shop", contract.PropagationPolicyNameAnnotation: "all"}
			needed := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "settings-configmap", Finalizers: []string{"test.fairlead.dev/held"}}}
			needed.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "settings"}
			needed.Spec.RequiredBy = []workv1alpha2.BindingSnapshot{
				{Namespace: "shop", Name: api.Name, Clusters: api.Spec.Clusters, Preserve: new(false)},
				{Namespace: "shop", Name: web.Name, Clusters: web.Spec.Clusters, Preserve: new(tc.noted)},
			}
			objects := []client.Object{policy, web, api, needed}
			if tc.there {
				objects = append(objects, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "settings"}})
			}
			scheme, err := kube.NewScheme()
			g.Expect(err).NotTo(HaveOccurred())
			hub := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
			r := &Reconciler{
				hubClient: hub, liveReader: hub, events: func(eventsink.Event) {}, wrote: kube.NewWritten[types.NamespacedName, kube.Binding](clock.RealClock{}),
			}
			order := []*workv1alpha2.ResourceBinding{web, api}
			if tc.first == api.Name {
				order = []*workv1alpha2.ResourceBinding{api, web}
			}
			for _, b := range order {
				g.Expect(hub.Get(t.Context(), client.ObjectKeyFromObject(b), b)).To(Succeed())
				g.Expect(hub.Get(t.Context(), client.ObjectKeyFromObject(needed), needed)).To(Succeed())
				in := &gathered{Input: plan.Input{Binding: b}, request: client.ObjectKeyFromObject(b), binding: b}
				g.Expect(r.detachAll(t.Context(), in, []kube.Binding{needed})).To(Succeed())
			}
			g.Expect(hub.Get(t.Context(), client.ObjectKeyFromObject(needed), needed)).To(Succeed())
			g.Expect(needed.DeletionTimestamp).NotTo(BeNil(), "the binding is deleted when nothing needs it")
			g.Expect(bindings.Preserved(&needed.Spec, "edge-1")).To(Equal(tc.want))
			if tc.there {
				g.Expect(attach.Places(needed, client.ObjectKeyFromObject(web))).To(BeEmpty(), "the object does not stay where the preserved workload runs without it")
			}
		})
	}
}

// follower returns the binding of a Deployment in a cluster.
func follower(name string) *workv1alpha2.ResourceBinding {
	b := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name + "-deployment"}}
	b.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: name}
	b.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: "edge-1"}}
	return b
}
