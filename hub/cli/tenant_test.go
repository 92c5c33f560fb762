package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
)

// tenants runs the commands that inspect a namespace as a user with the role `view` there, and no other rights.
func (l *lookout) tenants(g *WithT) {
	const user = "tenant"
	l.create(&rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	})
	tenant := l.as(user)
	// The binding itself names the silent cluster, for users who may not read Clusters.
	b := &workv1alpha2.ResourceBinding{}
	g.Expect(l.c.Get(l.t.Context(), client.ObjectKey{Namespace: "default", Name: "web-deployment"}, b)).To(Succeed())
	for i := range b.Status.AggregatedStatus {
		if item := &b.Status.AggregatedStatus[i]; item.ClusterName == "edge-2" {
			item.StaleSince = &metav1.Time{Time: b.CreationTimestamp.Time}
		}
	}
	g.Expect(l.c.Status().Update(l.t.Context(), b)).To(Succeed())

	// The API server's controller aggregates roles shortly after they are installed.
	g.Eventually(func() int { e := execution{env: tenant.env}; return e.run(l.t.Context(), "get", "-n", "default") }, waitTimeout, poll).Should(Equal(ExitDone))
	all, _ := l.run(ExitDone, "get", "-n", "default")
	out, _ := tenant.run(ExitDone, "get", "-n", "default")
	g.Expect(ageless(out)).To(Equal(ageless(all)), "there is nothing in the namespace that its tenant does not see")
	all, _ = l.run(ExitDone, "get", "deployment/web")
	out, _ = tenant.run(ExitDone, "get", "deployment/web")
	g.Expect(out).To(MatchRegexp(`edge-1 +Healthy`))
	g.Expect(out).To(MatchRegexp(`edge-2 +Stale`))
	g.Expect(out).To(MatchRegexp(`edge-3 +Failing +2 +no +- +denied by a webhook`), all)

	out, _ = tenant.run(ExitDone, "explain", "deployment/web")
	g.Expect(out).To(And(
		ContainSubstring("pp default/web"), ContainSubstring("You may not read all policies"),
		ContainSubstring("You may not read Clusters"), ContainSubstring("It is in edge-1"),
	))
	// A user who may read policies and Clusters, but not the Namespace and its quotas, is told what remains unknown
	// because of that.
	l.create(&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "looker"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"get", "list"}},
		{APIGroups: []string{"policy.karmada.io"}, Resources: []string{"propagationpolicies"}, Verbs: []string{"get", "list"}},
		{APIGroups: []string{"work.karmada.io"}, Resources: []string{"resourcebindings"}, Verbs: []string{"get", "list"}},
	}})
	l.create(&rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "looker"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "looker"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "looker"}},
	})
	l.create(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "clusters-looker"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"cluster.karmada.io"}, Resources: []string{"clusters"}, Verbs: []string{"get", "list"}},
	}})
	l.create(&rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "clusters-looker"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "clusters-looker"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "looker"}},
	})
	looker := l.as("looker")
	unknown := And(
		ContainSubstring("You may not read all policies"), ContainSubstring("You may not read Namespace default: it is unknown whether it may use all clusters"),
		ContainSubstring("You may not read the FederatedResourceQuotas of namespace default"),
	)
	g.Eventually(func() string { // RBAC takes a moment to take effect
		e := execution{env: looker.env}
		e.run(l.t.Context(), "explain", "deployment/web")
		return e.out.String()
	}, waitTimeout, poll).Should(And(ContainSubstring("denied by a webhook"), Not(ContainSubstring("You may not read Clusters"))))
	out, _ = looker.run(ExitDone, "explain", "deployment/web")
	g.Expect(out).To(And(unknown, ContainSubstring("You may not read Works"), ContainSubstring("denied by a webhook")))
	policy := filepath.Join(l.t.TempDir(), "policy.yaml")
	g.Expect(os.WriteFile(policy, []byte(`{"apiVersion":"policy.karmada.io/v1alpha1","kind":"PropagationPolicy","metadata":{"namespace":"default","name":"pp"},
		"spec":{"resourceSelectors":[{"apiVersion":"apps/v1","kind":"Deployment","name":"web"}],"placement":{"clusterAffinity":{"clusterNames":["edge-1","edge-2"]}}}}`), 0o600)).To(Succeed())
	out, _ = looker.run(ExitDone, "explain", "deployment/web", "--what-if", "-f", policy)
	g.Expect(out).To(And(unknown, MatchRegexp(`It would go to edge-1( \(\d+\))?, edge-2`)))
	patch := func(obj client.Object, text string) {
		g.Expect(l.c.Patch(l.t.Context(), obj, client.RawPatch(types.MergePatchType, []byte(text)))).To(Succeed())
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	patch(&clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "edge-1"}}, `{"metadata":{"labels":{"team":"fish"}}}`)
	patch(namespace, `{"metadata":{"annotations":{"`+contract.ClustersAnnotation+`":"team=fish"}}}`)
	out, _ = l.run(ExitDone, "explain", "deployment/web", "--what-if", "-f", policy)
	g.Expect(out).To(And(MatchRegexp(`It would go to edge-1( \(\d+\))?;`), MatchRegexp(`edge-2 +.*NamespaceClusters`)), "the annotation counts for who may read it")
	out, _ = looker.run(ExitDone, "explain", "deployment/web", "--what-if", "-f", policy)
	g.Expect(out).To(unknown)
	patch(namespace, `{"metadata":{"annotations":{"`+contract.ClustersAnnotation+`":null}}}`)

	tenant.run(ExitDone, "events", "deployment/web")
	tenant.run(ExitDone, "events", "-n", "default")
	tenant.run(ExitDone, "rollout", "status", "-n", "default")
	tenant.run(ExitDone, "wait", "deployment/web", "--for", "scheduled", "--timeout", "20s")
	for _, args := range [][]string{{"get", "-A"}, {"events", "-A"}, {"rollout", "status", "-A"}} {
		_, said := tenant.run(ExitFailed, args...)
		g.Expect(said).To(ContainSubstring("-n NAMESPACE"), "%v", args)
	}
	_, said := tenant.run(ExitFailed, "diff", "deployment/web")
	g.Expect(said).To(And(ContainSubstring(`cannot list resource "works"`), ContainSubstring("ask an administrator of the hub for that right")))
}

// ageless removes the ages from a table, since they change while the test runs.
func ageless(table string) string {
	return strings.Join(strings.Fields(regexp.MustCompile(`\b(\d+[smhd])+\b`).ReplaceAllString(table, "")), " ")
}

// as returns a lookout whose commands impersonate a user.
func (l *lookout) as(user string) *lookout {
	l.t.Helper()
	g := NewWithT(l.t)
	config, err := clientcmd.LoadFromFile(l.hub.Kubeconfig)
	g.Expect(err).NotTo(HaveOccurred())
	for _, auth := range config.AuthInfos {
		auth.Impersonate = user
	}
	file := filepath.Join(l.t.TempDir(), user+".kubeconfig")
	g.Expect(clientcmd.WriteToFile(*config, file)).To(Succeed())
	out := *l
	out.env = map[string]string{"KUBECONFIG": file}
	return &out
}
