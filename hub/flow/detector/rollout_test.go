package detector

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/controller-runtime/pkg/client"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/flow/detector/plan"
	"fairlead.dev/manifests"
)

// by waits for a binding with a strategy.
func by(want plan.Strategy) func(Gomega, *workv1alpha2.ResourceBinding) {
	return func(g Gomega, b *workv1alpha2.ResourceBinding) { g.Expect(plan.StrategyOn(b)).To(Equal(want)) }
}

func TestNewBindingHasItsStrategy(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := start(t)
	p := s.policy("p", named("apps/v1", "Deployment", "web"))
	p.Annotations = map[string]string{contract.RolloutStrategyAnnotation: "careful"}
	s.create(t, p, s.deployment("web", 2))
	b := s.eventually(t, "web-deployment", by(plan.Strategy{Name: "careful"}))
	s.settle(t)
	again, err := s.binding(t.Context(), "web-deployment")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again.ResourceVersion).To(Equal(b.ResourceVersion), "the binding is created with its strategy, without a second write")
}

func TestStrategyFollowsPolicyAndTemplate(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := start(t)
	p, web := s.policy("p", named("apps/v1", "Deployment", "web")), s.deployment("web", 2)
	s.create(t, p, web)
	s.eventually(t, "web-deployment", by(plan.Strategy{}))
	annotate := func(obj client.Object, value string) {
		g.Expect(s.client.Get(t.Context(), client.ObjectKeyFromObject(obj), obj)).To(Succeed())
		before, ok := obj.DeepCopyObject().(client.Object)
		g.Expect(ok).To(BeTrue())
		annotations := obj.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[contract.RolloutStrategyAnnotation] = value
		obj.SetAnnotations(annotations)
		g.Expect(s.client.Patch(t.Context(), obj, client.MergeFrom(before))).To(Succeed())
	}
	annotate(p, "careful")
	s.eventually(t, "web-deployment", by(plan.Strategy{Name: "careful"}))
	annotate(web, "own")
	s.eventually(t, "web-deployment", by(plan.Strategy{Name: "own"}))
	annotate(web, contract.RolloutStrategyNone)
	s.eventually(t, "web-deployment", by(plan.Strategy{}))

	forced := &fairleadv1alpha1.RolloutStrategy{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}, Spec: fairleadv1alpha1.RolloutStrategySpec{
		PolicySelector: &metav1.LabelSelector{MatchLabels: map[string]string{"in": s.namespace}},
	}}
	g.Expect(s.client.Create(t.Context(), forced)).To(Succeed())
	t.Cleanup(func() { _ = s.client.Delete(context.WithoutCancel(t.Context()), forced) })
	g.Expect(s.client.Get(t.Context(), client.ObjectKeyFromObject(p), p)).To(Succeed())
	before := p.DeepCopy()
	p.Labels["in"] = s.namespace
	g.Expect(s.client.Patch(t.Context(), p, client.MergeFrom(before))).To(Succeed())
	s.eventually(t, "web-deployment", by(plan.Strategy{Name: s.namespace, Forced: true}))

	b, err := s.binding(t.Context(), "web-deployment")
	g.Expect(err).NotTo(HaveOccurred())
	tampered := b.DeepCopy()
	delete(tampered.Annotations, contract.RolloutStrategyAnnotation)
	g.Expect(s.client.Patch(t.Context(), tampered, client.MergeFrom(b))).To(Succeed())
	s.eventually(t, "web-deployment", by(plan.Strategy{Name: s.namespace, Forced: true}))

	selecting := forced.DeepCopy()
	forced.Spec.PolicySelector = nil
	g.Expect(s.client.Patch(t.Context(), forced, client.MergeFrom(selecting))).To(Succeed())
	s.eventually(t, "web-deployment", by(plan.Strategy{}))
}

// tenant returns the client of a user who has the role edit in the namespace, and no other rights.
func (s *stage) tenant(t *testing.T) client.Client {
	t.Helper()
	g := NewWithT(t)
	user := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "tenant-of-" + s.namespace}}
	installed, err := manifests.RBAC()
	g.Expect(err).NotTo(HaveOccurred())
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "of-a-hub"}}
	for _, obj := range installed {
		if obj.GetName() == "fairlead-tenant-edit" {
			var edit rbacv1.ClusterRole
			g.Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &edit)).To(Succeed())
			role.Rules = edit.Rules
		}
	}
	g.Expect(role.Rules).NotTo(BeEmpty())
	for _, obj := range []client.Object{
		role,
		&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "of-a-hub"}, Subjects: user,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		},
		&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "edit"}, Subjects: user,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
		},
	} {
		g.Expect(s.client.Create(t.Context(), obj)).To(Succeed())
	}
	cfg := rest.CopyConfig(s.config)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: user[0].Name, Groups: []string{"system:authenticated"}}
	scheme, err := kube.NewScheme()
	g.Expect(err).NotTo(HaveOccurred())
	c, err := client.New(cfg, client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())
	return c
}

func TestTenantCannotRemoveForcedStrategy(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := start(t)
	label := func(c client.Client, value string) error {
		patch := []byte(`{"metadata":{"labels":{"strict":` + value + `}}}`)
		return c.Patch(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}, client.RawPatch(types.MergePatchType, patch))
	}
	s.create(t, s.policy("p", named("apps/v1", "Deployment", "web")), s.deployment("web", 2))
	s.eventually(t, "web-deployment", by(plan.Strategy{}))
	forced := &fairleadv1alpha1.RolloutStrategy{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}, Spec: fairleadv1alpha1.RolloutStrategySpec{
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"strict": s.namespace}},
	}}
	g.Expect(s.client.Create(t.Context(), forced)).To(Succeed())
	t.Cleanup(func() { _ = s.client.Delete(context.WithoutCancel(t.Context()), forced) })
	g.Expect(label(s.client, `"`+s.namespace+`"`)).To(Succeed())
	strict := plan.Strategy{Name: s.namespace, Forced: true}
	s.eventually(t, "web-deployment", by(strict))

	tenant := s.tenant(t)
	change := func(obj client.Object, metadata string) error {
		return tenant.Patch(t.Context(), obj, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{`+metadata+`}}`)))
	}
	p, web := s.policy("p"), s.deployment("web", 2)
	const out = `"annotations":{"` + contract.RolloutStrategyAnnotation + `":"none"}`
	g.Eventually(func() error { return change(p, out+`,"labels":{"strict":null,"tier":"mine"}`) }, "1m", "50ms").Should(Succeed(), "the tenant may edit once the authorizer has read the role")
	g.Eventually(func() error { return change(web, out) }, "1m", "50ms").Should(Succeed(), "by another role")
	other := s.policy("other", named("apps/v1", "Deployment", "web"))
	other.Spec.Priority, other.Spec.Preemption = new(int32(5)), policyv1alpha1.PreemptAlways
	g.Expect(tenant.Create(t.Context(), other)).To(Succeed())
	s.eventually(t, "web-deployment", claimedBy("other"))
	s.settle(t)
	b, err := s.binding(t.Context(), "web-deployment")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(plan.StrategyOn(b)).To(Equal(strict))
	g.Expect(label(tenant, "null")).To(Satisfy(apierrors.IsForbidden))
	g.Expect(change(b, `"annotations":null`)).To(Satisfy(apierrors.IsForbidden))

	// A template that is created again has the strategy from the start, and the owner of the namespace can remove it.
	g.Expect(tenant.Create(t.Context(), s.deployment("web-2", 2))).To(Succeed())
	g.Expect(tenant.Create(t.Context(), s.policy("p-2", named("apps/v1", "Deployment", "web-2")))).To(Succeed())
	s.eventually(t, "web-2-deployment", by(strict))
	g.Expect(label(s.client, "null")).To(Succeed())
	s.eventually(t, "web-deployment", by(plan.Strategy{}))
	s.eventually(t, "web-2-deployment", by(plan.Strategy{}))
}

func TestDeletedForcedStrategyStaysOnBindings(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := start(t)
	forced := &fairleadv1alpha1.RolloutStrategy{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}, Spec: fairleadv1alpha1.RolloutStrategySpec{
		PolicySelector: &metav1.LabelSelector{MatchLabels: map[string]string{"in": s.namespace}},
	}}
	g.Expect(s.client.Create(t.Context(), forced)).To(Succeed())
	p := s.policy("p", named("apps/v1", "Deployment", "web"))
	p.Labels = map[string]string{"in": s.namespace}
	web := s.deployment("web", 2)
	s.create(t, p, web)
	was := s.eventually(t, "web-deployment", by(plan.Strategy{Name: s.namespace, Forced: true}))
	g.Expect(s.client.Delete(t.Context(), forced)).To(Succeed())
	before := web.DeepCopy()
	web.SetLabels(map[string]string{"edited": "yes"})
	g.Expect(s.client.Patch(t.Context(), web, client.MergeFrom(before))).To(Succeed())
	s.eventually(t, "web-deployment", func(g Gomega, b *workv1alpha2.ResourceBinding) {
		g.Expect(b.Annotations[contract.TemplateFingerprintAnnotation]).NotTo(Equal(was.Annotations[contract.TemplateFingerprintAnnotation]), "the binding has the new fingerprint")
		g.Expect(plan.StrategyOn(b)).To(Equal(plan.Strategy{Name: s.namespace, Forced: true}))
	})
}
