package binding

import (
	"context"
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/flow/binding/fanout"
	"fairlead.dev/test/builder"
)

func TestUnservedKindIsNotMissing(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	scheme, err := kube.NewScheme()
	g.Expect(err).NotTo(HaveOccurred())
	resource := workv1alpha2.GroupVersion.WithResource("resourcebindings").GroupResource()
	answer := apierrors.NewGenericServerResponse(http.StatusNotFound, "get", resource, "", "404 page not found", 0, true)
	deleted := 0
	hub := fake.NewClientBuilder().WithScheme(scheme).WithObjects(strayOf("1", time.Unix(1000, 0))).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			if _, is := obj.(*workv1alpha2.ResourceBinding); is && answer != nil {
				return answer
			}
			return c.Get(ctx, key, obj, opts...)
		},
		Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error {
			deleted++
			return nil
		},
	}).Build()
	e, _ := makeExpectations()
	r := &reconciler{hubClient: hub, hubReader: hub, kind: kube.ResourceBindings(), prefix: "karmada-es-", expectations: e}
	r.strays.add(boundTo, fanout.Key(strayOf("1", time.Time{})))
	r.strays.gone.add(bindingOf("1"))
	_, err = r.cleanUpStrays(t.Context(), boundTo)
	g.Expect(err).To(MatchError(answer))
	g.Expect(deleted).To(BeZero())

	answer = nil
	_, err = r.cleanUpStrays(t.Context(), boundTo)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(deleted).To(Equal(1))
	g.Expect(r.strays.works).To(BeEmpty())
}

// TestStrayPreservesObjectLikeItsBinding has strays whose Works do not preserve their objects.
func TestStrayPreservesObjectLikeItsBinding(t *testing.T) {
	t.Parallel()
	ofPolicy := func(b *workv1alpha2.ResourceBinding) {
		b.Labels[contract.PropagationPolicyPermanentIDLabel] = "policy-1"
		b.Annotations = map[string]string{contract.PropagationPolicyNamespaceAnnotation: "shop", contract.PropagationPolicyNameAnnotation: "all"}
	}
	policy := func(id string, preserve bool) *policyv1alpha1.PropagationPolicy {
		p := builder.MakePolicy("shop", "all").Obj()
		p.Labels, p.Spec.PreserveResourcesOnDeletion = map[string]string{contract.PropagationPolicyPermanentIDLabel: id}, &preserve
		return p
	}
	for name, tc := range map[string]struct {
		change func(*workv1alpha2.ResourceBinding)
		policy *policyv1alpha1.PropagationPolicy
		want   bool
	}{
		"nothing preserves the object":                                   {},
		"the binding preserved the object":                               {change: func(b *workv1alpha2.ResourceBinding) { b.Spec.PreserveResourcesOnDeletion = new(true) }, want: true},
		"the binding preserved the object in this cluster":               {change: func(b *workv1alpha2.ResourceBinding) { b.Spec.PreservedIn = []string{"a"} }, want: true},
		"the binding preserved the object in another cluster":            {change: func(b *workv1alpha2.ResourceBinding) { b.Spec.PreservedIn = []string{"b"} }},
		"the live policy preserves the object":                           {change: ofPolicy, policy: policy("policy-1", true), want: true},
		"the live policy does not preserve the object":                   {change: ofPolicy, policy: policy("policy-1", false)},
		"another policy of the same name would preserve the object":      {change: ofPolicy, policy: policy("policy-2", true)},
		"the policy is gone":                                             {change: ofPolicy},
		"a policy that never had the template would preserve the object": {policy: policy("policy-1", true)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			there := []client.Object{strayOf("1", time.Unix(1000, 0)), builder.MakeCluster("a").Obj()}
			there[0].SetFinalizers([]string{contract.ExecutionFinalizer})
			if tc.policy != nil {
				there = append(there, tc.policy)
			}
			r := leftHub(t, nil, there...)
			b := bindingOf("1")
			if tc.change != nil {
				tc.change(b)
			}
			r.strays.gone.add(b)
			r.strays.add(boundTo, client.ObjectKeyFromObject(there[0]))
			_, err := r.cleanUpStrays(t.Context(), boundTo)
			g.Expect(err).NotTo(HaveOccurred())
			w := &workv1alpha1.Work{}
			g.Expect(r.hubClient.Get(t.Context(), client.ObjectKeyFromObject(there[0]), w)).To(Succeed())
			g.Expect(w.DeletionTimestamp).NotTo(BeNil())
			g.Expect(w.Annotations).To(HaveKeyWithValue(contract.DeletionIntentAnnotation, contract.DeletionRemoved))
			g.Expect(ptr.Deref(w.Spec.PreserveResourcesOnDeletion, false)).To(Equal(tc.want))
		})
	}
}

// bindingOf returns the binding with a permanent id that strayOf names.
func bindingOf(id string) *workv1alpha2.ResourceBinding {
	b := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: boundTo.Namespace, Name: boundTo.Name}}
	bindings.Identify(b, id)
	return b
}

var boundTo = types.NamespacedName{Namespace: "shop", Name: "web-deployment"}

// strayOf returns a Work in cluster a that names a binding with a permanent id.
func strayOf(id string, made time.Time) *workv1alpha1.Work {
	return &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{
		Namespace: "karmada-es-a", Name: "web", CreationTimestamp: metav1.NewTime(made), Labels: map[string]string{contract.ResourceBindingPermanentIDLabel: id},
		Annotations: map[string]string{contract.ResourceBindingNamespaceAnnotation: boundTo.Namespace, contract.ResourceBindingNameAnnotation: boundTo.Name},
	}}
}

func TestFateOfStray(t *testing.T) {
	t.Parallel()
	made := time.Unix(1000, 0)
	for name, c := range map[string]struct {
		id      string
		age     time.Duration
		change  func(*workv1alpha2.ResourceBinding)
		want    fate
		cluster string
	}{
		"another binding with other clusters":                     {id: "2", age: time.Second, cluster: "b", want: strayGoes},
		"another binding with this cluster takes the Work over":   {id: "2", age: time.Second, cluster: "a", want: strayStays},
		"the Work's own binding":                                  {id: "1", age: time.Second, cluster: "b", want: strayStays},
		"an older binding, which may have lost its id":            {id: "2", cluster: "b", want: strayStays},
		"a binding without an id":                                 {age: time.Second, cluster: "b", want: strayStays},
		"another binding that is leaving this cluster gracefully": {id: "2", age: time.Second, cluster: "b", want: strayStays, change: leaving},
		"another binding that is not scheduled yet":               {id: "2", age: time.Second, want: strayWaits, change: placing},
		"another binding without clusters and placement":          {id: "2", age: time.Second, want: strayGoes},
		"a binding that is being deleted":                         {id: "1", age: time.Second, want: strayWaits, change: deleting},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			b := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: boundTo.Namespace, Name: boundTo.Name, CreationTimestamp: metav1.NewTime(made.Add(c.age))}}
			if c.id != "" {
				bindings.Identify(b, c.id)
			}
			if c.cluster != "" {
				b.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: c.cluster}}
			}
			if c.change != nil {
				c.change(b)
			}
			r := &reconciler{kind: kube.ResourceBindings(), prefix: "karmada-es-"}
			got, err := r.fateOf(t.Context(), b, &departed{}, strayOf("1", made))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(Equal(c.want))
		})
	}
}

func leaving(b *workv1alpha2.ResourceBinding) {
	b.Spec.GracefulEvictionTasks = []workv1alpha2.GracefulEvictionTask{{FromCluster: "a"}}
}
func placing(b *workv1alpha2.ResourceBinding)  { b.Spec.Placement = &policyv1alpha1.Placement{} }
func deleting(b *workv1alpha2.ResourceBinding) { b.DeletionTimestamp = new(metav1.Now()) }
