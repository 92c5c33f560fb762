package binding

import (
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
)

// TestMissingOverrideReadsNamespaceLive has the watch of OverridePolicies ahead of that of Namespaces.
func TestMissingOverrideReadsNamespaceLive(t *testing.T) {
	t.Parallel()
	there := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	going := there.DeepCopy()
	going.DeletionTimestamp, going.Finalizers = new(metav1.Now()), []string{"test.fairlead.dev/held"}
	for name, tc := range map[string]struct {
		cached, live *corev1.Namespace
		// policies are the OverridePolicies in the cache.
		policies []string
		want     bool
	}{
		"the override policy exists":                                     {cached: there, live: going, policies: []string{"local"}},
		"the override policy is gone":                                    {cached: there, live: there, policies: []string{"another"}},
		"the override policy is gone and the namespace is being deleted": {cached: there, live: going, want: true},
		"the override policy and the namespace are gone":                 {cached: there, want: true},
		"the cache shows that the namespace is being deleted":            {cached: going, policies: []string{"local"}, want: true},
		"the namespace is gone":                                          {policies: []string{"local"}, want: true},
		"the cache does not show a new namespace yet":                    {live: there, policies: []string{"local"}},
		"the cache does not show a namespace that is being deleted":      {live: going, policies: []string{"local"}, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			scheme, err := kube.NewScheme()
			g.Expect(err).NotTo(HaveOccurred())
			hub := func(ns *corev1.Namespace) client.Client {
				b := fake.NewClientBuilder().WithScheme(scheme)
				if ns != nil {
					b.WithObjects(ns.DeepCopy())
				}
				return b.Build()
			}
			r := &reconciler{hubClient: hub(tc.cached), hubReader: hub(tc.live)}
			work := workOf(`{"apiVersion":"v1","kind":"ConfigMap"}`)
			work.Annotations[contract.AppliedOverridesAnnotation] = `[{"policyName":"local","overriders":{}}]`
			s := &scope{
				binding: &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "shop"}}, live: byNamespace([]*workv1alpha1.Work{work}),
			}
			for _, name := range tc.policies {
				s.policies.Namespaced = append(s.policies.Namespaced, policyv1alpha1.OverridePolicy{ObjectMeta: metav1.ObjectMeta{Name: name}})
			}
			g.Expect(r.readTerminating(t.Context(), s)).To(Succeed())
			g.Expect(s.terminating).To(Equal(tc.want))
		})
	}
}

// TestMissingQuotaReadsNamespaceLive has the watch of quotas ahead of that of Namespaces. A Work that a quota held back must not
// be sent because the quota is deleted with its namespace.
func TestMissingQuotaReadsNamespaceLive(t *testing.T) {
	t.Parallel()
	there := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	going := there.DeepCopy()
	going.DeletionTimestamp, going.Finalizers = new(metav1.Now()), []string{"test.fairlead.dev/held"}
	quotaOf := func(name string, resources ...corev1.ResourceName) *policyv1alpha1.FederatedResourceQuota {
		q := &policyv1alpha1.FederatedResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
		q.Spec.Overall = corev1.ResourceList{}
		for _, name := range resources {
			q.Spec.Overall[name] = resource.MustParse("1")
		}
		return q
	}
	pods, memory := quotaOf("pods", corev1.ResourcePods), quotaOf("memory", corev1.ResourceMemory)
	held := metav1.Condition{Type: workv1alpha2.BindingRendered, Status: metav1.ConditionFalse, Reason: workv1alpha2.ReasonQuotaExceeded}
	type quotas []*policyv1alpha1.FederatedResourceQuota
	for name, tc := range map[string]struct {
		live *corev1.Namespace
		// before are the quotas that this process saw first, if it did; now are those in the cache.
		before, now quotas
		// says changes the binding.
		says func(*workv1alpha2.ResourceBinding)
		want bool
	}{
		"there never was a quota":                   {live: going},
		"the quotas exist":                          {live: going, before: quotas{pods, memory}, now: quotas{pods, memory}},
		"all quotas are gone with the namespace":    {live: going, before: quotas{pods}, want: true},
		"one quota is gone with the namespace":      {live: going, before: quotas{pods, memory}, now: quotas{pods}, want: true},
		"the quota was removed":                     {live: there, before: quotas{pods}},
		"the quota was gone before the hub started": {live: going, says: func(b *workv1alpha2.ResourceBinding) { b.Status.Conditions = []metav1.Condition{held} }, want: true},
		"the quota was gone before the hub started, but its admitted requests are recorded": {live: going, says: func(b *workv1alpha2.ResourceBinding) {
			b.Annotations = map[string]string{contract.AdmittedRequestsAnnotation: "{}"}
		}, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			scheme, err := kube.NewScheme()
			g.Expect(err).NotTo(HaveOccurred())
			hub := func(ns *corev1.Namespace, all quotas) client.Client {
				b := fake.NewClientBuilder().WithScheme(scheme).WithObjects(ns.DeepCopy())
				for _, q := range all {
					b.WithObjects(q.DeepCopy())
				}
				return b.Build()
			}
			r := &reconciler{kind: kube.ResourceBindings(), hubReader: hub(tc.live, nil)}
			looks := func(all quotas) bool {
				r.hubClient = hub(there, all)
				s := &scope{binding: &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "shop"}}}
				if b, ok := s.binding.(*workv1alpha2.ResourceBinding); ok && tc.says != nil {
					tc.says(b)
				}
				g.Expect(r.readQuotas(t.Context(), s)).To(Succeed())
				g.Expect(r.readTerminating(t.Context(), s)).To(Succeed())
				return s.terminating
			}
			if len(tc.before) > 0 {
				g.Expect(looks(tc.before)).To(BeFalse())
			}
			g.Expect(looks(tc.now)).To(Equal(tc.want))
			g.Expect(looks(tc.now)).To(Equal(tc.want), "the result holds for the next binding")
			if !tc.want {
				g.Expect(r.bounded.see("shop", nil)).To(HaveLen(len(tc.now)), "a removed quota is settled")
			}
		})
	}
}
