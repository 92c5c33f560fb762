package cli

import (
	"os"
	"path/filepath"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/test/builder"
)

// stays looks at an application in a namespace that is excluded from propagation, as a user who may only view that
// namespace.
func (l *lookout) stays(g *WithT) {
	const ns = "kube-shop"
	l.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}})
	l.create(builder.MakeDeployment(ns, "web").Obj(), builder.MakePolicy(ns, "web").Select("apps/v1", "Deployment", "web").Obj(),
		&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "looks"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "looks"}},
		})
	const why = "namespace kube-shop is one of those that --skipped-propagating-namespaces of the hub keeps there (kube-.*)"
	said := And(ContainSubstring("It stays on the hub, and no policy propagates it: "+why), MatchRegexp(`pp kube-shop/web .* no +the object stays on the hub`),
		ContainSubstring("Next: No policy can propagate this object."), Not(ContainSubstring("It would go to")))
	tenant := l.as("looks")
	g.Eventually(func() string { // RBAC takes a moment to take effect
		e := execution{env: tenant.env}
		e.run(l.t.Context(), "explain", "deployment/web", "-n", ns)
		return e.out.String()
	}, waitTimeout, poll).Should(said)
	policy := filepath.Join(l.t.TempDir(), "policy.yaml")
	g.Expect(os.WriteFile(policy, []byte(`{"apiVersion":"policy.karmada.io/v1alpha1","kind":"PropagationPolicy","metadata":{"name":"web"},
		"spec":{"resourceSelectors":[{"apiVersion":"apps/v1","kind":"Deployment","name":"web"}]}}`), 0o600)).To(Succeed())
	out, _ := l.run(ExitDone, "explain", "--what-if", "-f", policy, "-n", ns)
	g.Expect(out).To(said)
	_, idle := l.run(ExitDone, "get", "-n", ns)
	g.Expect(idle).To(ContainSubstring("PropagationPolicy kube-shop/web: It has no objects. Nothing of its namespace is propagated: " + why))
}
