package integration

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/controller-runtime/pkg/client"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/test/builder"
)

// TestATenantDoesNotReadWhatClusterPoliciesSay reads, as a user with the role edit in a namespace, everything about a
// Deployment with a staged rollout whose password in each cluster comes from a ClusterOverridePolicy.
func TestATenantDoesNotReadWhatClusterPoliciesSay(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := shared(t)
	ns := s.namespace(t)
	strategy := s.staged(t, "edge-1", func(*fairleadv1alpha1.RolloutStrategySpec) {})
	const path = "/spec/template/spec/containers/0/env/0/value"
	policy := builder.MakeOverride("", "proxy-"+ns).Select("apps/v1", "Deployment", "web").Replace("edge-1", path, "hunter2").Replace("edge-2", path, "swordfish").ClusterObj()
	policy.Spec.ResourceSelectors[0].Namespace = ns
	t.Cleanup(func() { _ = s.hub.Client(t).Delete(context.WithoutCancel(t.Context()), policy) })
	template := builder.MakeDeployment(ns, "web").Obj()
	setEnv(g, template, "changed in every cluster", "")
	s.create(t, policy, by(strategy, builder.MakePolicy(ns, "web").Select("apps/v1", "Deployment", "web").Clusters("edge-1", "edge-2").Obj()), template)
	s.awaitRollout(t, template, 1, fairleadv1alpha1.RolloutCompleted)
	have := func(image string) {
		t.Helper()
		eventually(t, func(g Gomega) {
			for member, password := range map[string]string{"edge-1": "hunter2", "edge-2": "swordfish"} {
				live := s.inMember(t, g, member, template)
				g.Expect(env(live)).To(Equal(password), member)
				containers, _, _ := unstructured.NestedSlice(live.Object, "spec", "template", "spec", "containers")
				g.Expect(containers[0]).To(HaveKeyWithValue("image", image), member)
			}
		})
	}
	have("nginx:1.27")
	s.update(t, template, func(obj *unstructured.Unstructured) {
		containers, _, _ := unstructured.NestedSlice(obj.Object, "spec", "template", "spec", "containers")
		container, _ := containers[0].(map[string]any)
		container["image"] = "nginx:1.28"
		g.Expect(unstructured.SetNestedSlice(obj.Object, containers, "spec", "template", "spec", "containers")).To(Succeed())
	})
	s.awaitRollout(t, template, 2, fairleadv1alpha1.RolloutCompleted)
	have("nginx:1.28")

	tenant := s.editor(t, ns)
	var secrets corev1.SecretList
	g.Eventually(func() error { return tenant.List(t.Context(), &secrets, client.InNamespace(ns)) }).WithTimeout(waitTimeout).Should(Succeed(),
		"the authorizer reads roles a moment later")
	read := allOf(g, &secrets)
	g.Expect(read).To(And(ContainSubstring("nginx:1.27"), ContainSubstring("nginx:1.28")), "revisions are there")
	g.Expect(tenant.List(t.Context(), &corev1.SecretList{}, client.InNamespace(contract.ClusterNamespace))).To(Satisfy(apierrors.IsForbidden))
	for _, list := range []client.ObjectList{&workv1alpha2.ResourceBindingList{}, &fairleadv1alpha1.StagedRolloutList{}, &corev1.EventList{}} {
		g.Expect(tenant.List(t.Context(), list, client.InNamespace(ns))).To(Succeed())
		text, err := json.Marshal(list)
		g.Expect(err).NotTo(HaveOccurred())
		read += string(text)
	}
	g.Expect(read).To(And(Not(ContainSubstring("hunter2")), Not(ContainSubstring("swordfish")), Not(ContainSubstring(policy.Name))))

	// Its Secrets are deleted with the application.
	rules := func(g Gomega) []corev1.Secret {
		var list corev1.SecretList
		g.Expect(s.hub.Client(t).List(t.Context(), &list, client.InNamespace(contract.ClusterNamespace), client.HasLabels{contract.RolloutUIDLabel})).To(Succeed())
		var out []corev1.Secret
		for i := range list.Items {
			if list.Items[i].Annotations[contract.RevisionOfAnnotation] == rolloutOf(template).String() {
				out = append(out, list.Items[i])
			}
		}
		return out
	}
	g.Expect(rules(g)).To(HaveLen(2))
	g.Expect(s.hub.Client(t).Delete(t.Context(), template)).To(Succeed())
	eventually(t, func(g Gomega) { g.Expect(rules(g)).To(BeEmpty()) })
}

// editor returns the client of a user with the role edit in a namespace.
func (s *system) editor(t *testing.T, ns string) client.Client {
	t.Helper()
	g := NewWithT(t)
	s.create(t, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "editor"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "editor-of-" + ns}},
	})
	cfg := rest.CopyConfig(s.hub.Config)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: "editor-of-" + ns}
	scheme, err := kube.NewScheme()
	g.Expect(err).NotTo(HaveOccurred())
	c, err := client.New(cfg, client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())
	return c
}

// allOf returns the contents of Secrets, decompressed.
func allOf(g Gomega, secrets *corev1.SecretList) string {
	text, err := json.Marshal(secrets)
	g.Expect(err).NotTo(HaveOccurred())
	out := bytes.NewBuffer(text)
	for i := range secrets.Items {
		for _, data := range secrets.Items[i].Data {
			out.Write(data)
			if zip, err := gzip.NewReader(bytes.NewReader(data)); err == nil {
				_, err := io.Copy(out, zip)
				g.Expect(err).NotTo(HaveOccurred())
			}
		}
	}
	return out.String()
}
