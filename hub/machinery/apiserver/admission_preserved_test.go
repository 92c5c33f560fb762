package apiserver

import (
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/quota"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/cluster"
	"fairlead.dev/test/stagetest"
)

// editorOf returns a client of a user with the role edit in a namespace, and no other rights.
func editorOf(t *testing.T, hub *cluster.Cluster, namespace string) client.Client {
	t.Helper()
	g := NewWithT(t)
	g.Expect(hub.Client(t).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "tenant"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "tenant-of-" + namespace}},
	})).To(Succeed())
	cfg := rest.CopyConfig(hub.Config)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: "tenant-of-" + namespace, Groups: []string{"system:authenticated"}}
	s, err := kube.NewScheme()
	g.Expect(err).NotTo(HaveOccurred())
	tenant, err := client.New(cfg, client.Options{Scheme: s})
	g.Expect(err).NotTo(HaveOccurred())
	return tenant
}

// TestNobodyLeavesPodsBehindThatAQuotaWouldCount has a tenant preserve resources in the members, where the hub no
// longer counts them once the template is deleted.
func TestNobodyLeavesPodsBehindThatAQuotaWouldCount(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	hub := installedHub(t)
	hubClient, ns := hub.Client(t), hub.Namespace(t)
	tenant := editorOf(t, hub, ns)
	policy := func(name string) *builder.Policy {
		return builder.MakePolicy(ns, name).Select("apps/v1", "Deployment", "web")
	}
	before := policy("before").Preserve().Obj()
	g.Eventually(func() error { return tenant.Create(t.Context(), before) }, stagetest.Timeout, stagetest.Poll).Should(Succeed(), "there is no quota")
	stored := policy("stored").Preserve().Obj()
	stored.Finalizers = []string{"shop.example.com/mine"}
	g.Expect(tenant.Create(t.Context(), stored)).To(Succeed())
	g.Expect(hubClient.Create(t.Context(), &policyv1alpha1.FederatedResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "all"},
		Spec:       policyv1alpha1.FederatedResourceQuotaSpec{Overall: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("10")}},
	})).To(Succeed())
	g.Eventually(func(g Gomega) {
		err := tenant.Create(t.Context(), policy("after").Preserve().Obj(), client.DryRunAll)
		g.Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)
		g.Expect(err).To(MatchError(ContainSubstring("spec.preserveResourcesOnDeletion: objects that stay in the members are not counted, but FederatedResourceQuota all limits")))
	}, stagetest.Timeout, stagetest.Poll).Should(Succeed())

	g.Expect(tenant.Create(t.Context(), policy("plain").Obj())).To(Succeed(), "which preserves nothing")
	g.Expect(hubClient.Create(t.Context(), policy("admin").Preserve().Obj())).To(Succeed(), "who may change the quota may leave it behind")
	before.Labels = map[string]string{"team": "shop"}
	g.Expect(tenant.Update(t.Context(), before)).To(Succeed(), "what was stored before is not held up")
	before.Spec.Suspension = &policyv1alpha1.Suspension{Dispatching: new(true)}
	g.Expect(tenant.Update(t.Context(), before)).To(Succeed(), "as a person suspends an application")
	wider := before.DeepCopy()
	wider.Spec.ResourceSelectors[0].Name = ""
	g.Expect(apierrors.IsForbidden(tenant.Update(t.Context(), wider))).To(BeTrue(), "unless it is to preserve something else")
	plain := before.DeepCopy()
	plain.Spec.PreserveResourcesOnDeletion = nil
	g.Expect(tenant.Update(t.Context(), plain, client.DryRunAll)).To(Succeed())

	// What admission lets pass for whatever reason, the quotas stage tells of by the same definition.
	for _, preserve := range []*bool{nil, new(false), new(true)} {
		p := policy("any").Obj()
		p.Spec.PreserveResourcesOnDeletion = preserve
		g.Expect(apierrors.IsForbidden(tenant.Create(t.Context(), p.DeepCopy(), client.DryRunAll))).To(Equal(quota.Preserves(p)))
	}
	before.Finalizers = []string{"test.fairlead.dev/held"}
	g.Expect(tenant.Update(t.Context(), before)).To(Succeed())
	g.Expect(tenant.Delete(t.Context(), before)).To(Succeed())
	g.Expect(tenant.Get(t.Context(), client.ObjectKeyFromObject(before), before)).To(Succeed())
	before.Spec.ResourceSelectors[0].Name = ""
	g.Expect(apierrors.IsForbidden(tenant.Update(t.Context(), before))).To(Equal(quota.Preserves(before)), "it is being deleted")
	before.Spec.ResourceSelectors[0].Name, before.Finalizers = "web", nil
	g.Expect(tenant.Update(t.Context(), before)).To(Succeed())

	// What a policy says last counts, also while it is being deleted.
	last := policy("last").Obj()
	last.Finalizers = []string{"shop.example.com/mine"}
	g.Expect(tenant.Create(t.Context(), last)).To(Succeed())
	for _, leaving := range []*policyv1alpha1.PropagationPolicy{last, stored} {
		g.Expect(tenant.Delete(t.Context(), leaving)).To(Succeed())
		g.Expect(tenant.Get(t.Context(), client.ObjectKeyFromObject(leaving), leaving)).To(Succeed())
		g.Expect(leaving.DeletionTimestamp).NotTo(BeNil())
	}
	preserving := last.DeepCopy()
	preserving.Spec.PreserveResourcesOnDeletion = new(true)
	g.Expect(apierrors.IsForbidden(tenant.Update(t.Context(), preserving))).To(BeTrue(), "it has not preserved anything before")
	for _, leaving := range []*policyv1alpha1.PropagationPolicy{last, stored} {
		leaving.Finalizers = nil
		g.Expect(tenant.Update(t.Context(), leaving)).To(Succeed(), "nothing holds up %s, which goes", leaving.Name)
		g.Expect(tenant.Get(t.Context(), client.ObjectKeyFromObject(leaving), leaving)).To(Satisfy(apierrors.IsNotFound))
	}
}
