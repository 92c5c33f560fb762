package cli

import (
	"path/filepath"

	. "github.com/onsi/gomega"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

// tenants runs what looks at one namespace as somebody who has `view` there, and no other right.
func (l *lookout) tenants(g *WithT) {
	const user = "tenant"
	l.create(&rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	})
	config, err := clientcmd.LoadFromFile(l.hub.Kubeconfig)
	g.Expect(err).NotTo(HaveOccurred())
	for _, auth := range config.AuthInfos {
		auth.Impersonate = user
	}
	file := filepath.Join(l.t.TempDir(), "tenant.kubeconfig")
	g.Expect(clientcmd.WriteToFile(*config, file)).To(Succeed())
	tenant := *l
	tenant.env = map[string]string{"KUBECONFIG": file}
	// Which cluster is silent is on the binding, for those who may not read Clusters.
	b := &workv1alpha2.ResourceBinding{}
	g.Expect(l.c.Get(l.t.Context(), client.ObjectKey{Namespace: "default", Name: "web-deployment"}, b)).To(Succeed())
	for i := range b.Status.AggregatedStatus {
		if item := &b.Status.AggregatedStatus[i]; item.ClusterName == "edge-2" {
			item.StaleSince = &metav1.Time{Time: b.CreationTimestamp.Time}
		}
	}
	g.Expect(l.c.Status().Update(l.t.Context(), b)).To(Succeed())

	// The API's own controller adds the rights up, a moment after they are installed.
	g.Eventually(func() int { e := execution{env: tenant.env}; return e.run(l.t.Context(), "get", "-n", "default") }, patience, poll).Should(Equal(ExitDone))
	all, _ := l.run(ExitDone, "get", "-n", "default")
	out, _ := tenant.run(ExitDone, "get", "-n", "default")
	g.Expect(out).To(Equal(all), "there is nothing in the namespace that its tenant does not see")
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
	tenant.run(ExitDone, "events", "deployment/web")
	tenant.run(ExitDone, "events", "-n", "default")
	tenant.run(ExitDone, "rollout", "status", "-n", "default")
	tenant.run(ExitDone, "wait", "deployment/web", "--for", "scheduled", "--timeout", "20s")
	for _, args := range [][]string{{"get"}, {"events"}, {"rollout", "status"}} {
		_, said := tenant.run(ExitFailed, args...)
		g.Expect(said).To(ContainSubstring("-n NAMESPACE"), "%v", args)
	}
	_, said := tenant.run(ExitFailed, "diff", "deployment/web")
	g.Expect(said).To(And(ContainSubstring(`cannot list resource "works"`), ContainSubstring("ask whoever runs the hub for that right")))
}
