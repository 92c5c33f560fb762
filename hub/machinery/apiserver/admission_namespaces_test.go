package apiserver

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/contract"
	"fairlead.dev/common/selector"
	"fairlead.dev/test/cluster"
)

// TestWhichClustersANamespaceMayUse tries many values of the annotation: whatever the API accepts, the hub can parse.
func TestWhichClustersANamespaceMayUse(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	hub := cluster.Shared(t, cluster.Options{})
	g.Expect(Install(t.Context(), hub.Config, Options{})).To(Succeed())
	hubClient := hub.Client(t)
	saying := func(text string) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "allowance-", Annotations: map[string]string{contract.ClustersAnnotation: text}}}
	}
	try := func(text string) error { return hubClient.Create(t.Context(), saying(text), client.DryRunAll) }
	// The policy may not be in force yet.
	g.Eventually(func() error { return try("team in") }).WithTimeout(time.Minute).ShouldNot(Succeed())
	for _, text := range []string{
		"team=shop", "team==shop", "team!=shop", "team", "!team", "! team", "env in (test, prod)", "env notin (test)", "size>3", "size < 3",
		"example.com/team=shop,env in (a,b),!old", " team = shop , env ", "team=", "a in ()", "team in (a,)", "size notin (a), in=a", strings.Repeat("a=b,", 100) + "c",
	} {
		g.Expect(selector.AllowanceOf(saying(text)).Unusable(nil)).To(BeEmpty(), "the hub can read %q", text)
		g.Expect(try(text)).To(Succeed(), text)
	}
	for _, text := range []string{"", " ", "team in", "team in shop", "team in (shop", "=shop", "team=shop,", ",", "team=shop prod", "team=a=b", "(team)", "size>a", "size > -3", "team=shop\nenv", "*", "team~shop"} {
		g.Expect(selector.AllowanceOf(saying(text)).Unusable(nil)).To(ContainSubstring("kubectl annotate namespace"), "the hub cannot read %q", text)
		err := try(text)
		g.Expect(err).To(MatchError(And(ContainSubstring("metadata.annotations[fairlead.dev/clusters]"), ContainSubstring("team=shop"))), text)
		g.Expect(apierrors.IsInvalid(err)).To(BeTrue())
	}
	g.Expect(try(strings.Repeat("a=b,", 300) + "c")).To(MatchError(ContainSubstring("no longer than 1024")))

	// A user with all rights in a namespace, but none on Namespaces, can neither set nor remove it.
	ns := saying("team=shop")
	g.Expect(hubClient.Create(t.Context(), ns)).To(Succeed())
	config := rest.CopyConfig(hub.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: ns.Name}
	tenant, err := client.New(config, client.Options{Scheme: hubClient.Scheme()})
	g.Expect(err).NotTo(HaveOccurred())
	for _, role := range []string{"edit", "admin"} {
		g.Expect(hubClient.Create(t.Context(), &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: role}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: ns.Name}},
		})).To(Succeed())
	}
	g.Eventually(func() error { return tenant.Get(t.Context(), client.ObjectKeyFromObject(ns), &corev1.Namespace{}) }).WithTimeout(time.Minute).Should(Succeed())
	for _, text := range []string{`null`, `"team"`, `""`} {
		body := `{"metadata":{"annotations":{"` + contract.ClustersAnnotation + `":` + text + `}}}`
		for _, sub := range []string{"", "status", "finalize"} {
			patch := client.RawPatch("application/merge-patch+json", []byte(body))
			err := tenant.Patch(t.Context(), ns.DeepCopy(), patch)
			if sub != "" {
				err = tenant.SubResource(sub).Patch(t.Context(), ns.DeepCopy(), patch)
			}
			g.Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%s of %q: %v", text, sub, err)
		}
	}
	live := &corev1.Namespace{}
	g.Expect(hubClient.Get(t.Context(), client.ObjectKeyFromObject(ns), live)).To(Succeed())
	g.Expect(live.Annotations).To(HaveKeyWithValue(contract.ClustersAnnotation, "team=shop"))
}
