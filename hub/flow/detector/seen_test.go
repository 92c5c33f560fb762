package detector

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
)

// sees waits until a stage that waits for the detector may send a template as it is.
func (s *stage) sees(t *testing.T, template client.Object, binding string) {
	t.Helper()
	g := NewWithT(t)
	kind, err := s.client.GroupVersionKindFor(template)
	g.Expect(err).NotTo(HaveOccurred())
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(queue.ShutDown)
	stage := s.seen.Waiter()
	g.Expect(stage.Source().Start(t.Context(), queue)).To(Succeed())
	g.Eventually(func(g Gomega) {
		b, err := s.binding(t.Context(), binding)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(bindings.IsDetected(b)).To(BeTrue(), "the binding must be one of the detector")
		live := &unstructured.Unstructured{}
		live.SetGroupVersionKind(kind)
		g.Expect(s.client.Get(t.Context(), client.ObjectKeyFromObject(template), live)).To(Succeed())
		_, waits := stage.Await(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(b)}, b, bindings.Fingerprint(live))
		g.Expect(waits).To(BeFalse(), "%s %s", kind.Kind, template.GetName())
	}, "1m", "50ms").Should(Succeed())
}

// TestEditsAreSeenInEveryOutcome edits templates whose bindings stay as they are for various reasons. Stages that send edits
// wait until each edit is seen, so none may be missed.
func TestEditsAreSeenInEveryOutcome(t *testing.T) {
	t.Parallel()
	const edit = `{"metadata":{"labels":{"edited":"yes"}}}`
	for name, c := range map[string]struct {
		// template is selected by a policy of the same name, web.
		template func(*stage) client.Object
		binding  string
		// happens causes that edits do not reach the binding.
		happens func(t *testing.T, s *stage, template client.Object)
	}{
		"a lazy policy has seen the edit": {happens: func(t *testing.T, s *stage, template client.Object) {
			t.Helper()
			s.change(t, s.policy("web"), func(spec *policyv1alpha1.PropagationSpec) { spec.ActivationPreference = policyv1alpha1.LazyActivation })
			NewWithT(t).Eventually(func(g Gomega) {
				g.Expect(s.client.Get(t.Context(), client.ObjectKeyFromObject(template), template)).To(Succeed())
				g.Expect(template.GetAnnotations()).To(HaveKey(contract.TemplateEditAnnotation))
			}, "1m", "50ms").Should(Succeed())
		}},
		"its policy is deleted": {happens: func(t *testing.T, s *stage, _ client.Object) {
			t.Helper()
			NewWithT(t).Expect(s.client.Delete(t.Context(), s.policy("web"))).To(Succeed())
			s.eventually(t, "web-deployment", func(g Gomega, b *workv1alpha2.ResourceBinding) { g.Expect(claimed(b)).To(BeFalse()) })
		}},
		"its policy is deleted and its kind is not watched any more": {
			template: func(s *stage) client.Object { return limits(s.namespace, "web") }, binding: "web-limitrange",
			happens: func(t *testing.T, s *stage, _ client.Object) {
				t.Helper()
				NewWithT(t).Expect(s.client.Delete(t.Context(), s.policy("web"))).To(Succeed())
				s.eventually(t, "web-limitrange", func(g Gomega, b *workv1alpha2.ResourceBinding) { g.Expect(claimed(b)).To(BeFalse()) })
				s.settle(t)
			},
		},
		"policies do not apply to it any more": {happens: func(t *testing.T, s *stage, template client.Object) {
			t.Helper()
			s.patch(t, template, `{"metadata":{"labels":{"`+contract.ClaimedByLabel+`":"somebody"}}}`)
		}},
		"its PriorityClass is deleted": {happens: func(t *testing.T, s *stage, _ client.Object) {
			t.Helper()
			s.patch(t, s.policy("web"), `{"spec":{"schedulePriority":{"priorityClassSource":"KubePriorityClass","priorityClassName":"no-such-class"}}}`)
			s.eventuallyTold(t, reasonApplyPolicyFailed)
		}},
		"its replicas cannot be read": {happens: func(t *testing.T, s *stage, template client.Object) {
			t.Helper()
			s.patch(t, template, `{"metadata":{"annotations":{"fails":"no idea"}}}`)
			s.eventuallyTold(t, reasonGetReplicasFailed)
		}},
		"it is being deleted": {happens: func(t *testing.T, s *stage, template client.Object) {
			t.Helper()
			s.patch(t, template, `{"metadata":{"finalizers":["test.fairlead.dev/held"]}}`)
			t.Cleanup(func() {
				_ = s.client.Patch(context.WithoutCancel(t.Context()), template, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
			})
			NewWithT(t).Expect(s.client.Delete(t.Context(), template)).To(Succeed())
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			s := start(t)
			var template client.Object = s.deployment("web", 2)
			if c.template != nil {
				template = c.template(s)
			}
			binding := "web-deployment"
			if c.binding != "" {
				binding = c.binding
			}
			kind := template.GetObjectKind().GroupVersionKind()
			s.create(t, s.policy("web", named(kind.GroupVersion().String(), kind.Kind, "web")), template)
			s.eventually(t, binding, claimedBy("web"))
			s.sees(t, template, binding)
			c.happens(t, s, template)
			s.sees(t, template, binding)
			s.patch(t, template, edit)
			s.sees(t, template, binding)

			// Another hub that starts has no record, and finds an edit that was made while no hub ran.
			s.stop()
			s.patch(t, template, `{"metadata":{"labels":{"edited":"again"}}}`)
			s.run(t, g, s.config)
			s.sees(t, template, binding)
			s.patch(t, template, edit)
			s.sees(t, template, binding)
		})
	}
}

// eventuallyTold waits for an event.
func (s *stage) eventuallyTold(t *testing.T, reason string) {
	t.Helper()
	NewWithT(t).Eventually(func() []string { return s.writes.notes(reason) }, "1m", "50ms").ShouldNot(BeEmpty())
}
