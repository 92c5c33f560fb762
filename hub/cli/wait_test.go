package cli

import (
	"testing"

	. "github.com/onsi/gomega"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/hub/people/view/applications"
	"fairlead.dev/test/builder"
)

// diffAndWait compares and waits while objects change.
func (l *lookout) diffAndWait(g *WithT) {
	out, _ := l.run(ExitDone, "diff", "deployment/web")
	g.Expect(out).To(Equal("# edge-1: as rendered\n# edge-2: as rendered\n# edge-3: as rendered\n"))
	out, said := l.run(ExitNo, "diff", "deployment/web", "--between", "edge-1,edge-3")
	g.Expect(out).To(And(ContainSubstring("--- edge-1\n+++ edge-3\n"), ContainSubstring("-    replicas: 2\n+    replicas: 5\n"), Not(ContainSubstring("permanent-id: edge"))))
	g.Expect(said).To(Equal("Error: Deployment default/web differs between edge-1 and edge-3\n"))
	out, _ = l.run(ExitDone, "diff", "deployment/web", "--between", "edge-1,edge-2")
	g.Expect(out).To(Equal("# edge-1 and edge-2 were sent the same\n"))
	_, said = l.run(ExitFailed, "diff", "deployment/web", "--cluster", "edge-9")
	g.Expect(said).To(ContainSubstring("Deployment default/web is not in cluster edge-9; it is in edge-1, edge-2, edge-3"))
	_, said = l.run(ExitFailed, "diff", "deployment/web", "--between", "edge-1")
	g.Expect(said).To(ContainSubstring("--between takes two clusters"))

	out, said = l.run(ExitDone, "wait", "deployment/web", "--for", "scheduled")
	g.Expect(out).To(Equal("Deployment default/web is scheduled\n"))
	g.Expect(said).To(ContainSubstring("0s  Failing: 1 of 3 clusters ready, applied in 2, healthy in 2, 1 not heard from; edge-3: denied by a webhook\n"))
	_, said = l.run(ExitTimeout, "wait", "deployment/web", "--timeout", "1s", "-q")
	g.Expect(said).To(HavePrefix("Error: Deployment default/web is not ready after 1s: Failing: 1 of 3"))
	_, said = l.run(ExitFailed, "wait", "deployment/none")
	g.Expect(said).To(ContainSubstring("the hub has no Deployment"))
	out, _ = l.run(ExitDone, "wait", "cluster/edge-1")
	g.Expect(out).To(Equal("cluster edge-1 is ready\n"))
	_, said = l.run(ExitTimeout, "wait", "cluster/edge-2", "--timeout", "1s")
	g.Expect(said).To(ContainSubstring("cluster edge-2 is not ready after 1s: Silent: said so"))
	_, said = l.run(ExitFailed, "wait", "cluster/edge-2", "--for", "applied")
	g.Expect(said).To(ContainSubstring("--for \"applied\" is none of ready, deleted"))
	out, _ = l.run(ExitDone, "wait", "cm/alone", "--for", "deleted")
	g.Expect(out).To(Equal("ConfigMap default/alone is deleted\n"))

	// With edge-1 alone the application is ready, until its template changes.
	b := &workv1alpha2.ResourceBinding{}
	key := client.ObjectKey{Namespace: "default", Name: "web-deployment"}
	g.Expect(l.c.Get(l.t.Context(), key, b)).To(Succeed())
	b.Spec.Clusters = b.Spec.Clusters[:1]
	g.Expect(l.c.Update(l.t.Context(), b)).To(Succeed())
	b.Status.SchedulerObservedGeneration, b.Status.AggregatedStatus = b.Generation, b.Status.AggregatedStatus[:1]
	g.Expect(l.c.Status().Update(l.t.Context(), b)).To(Succeed())
	l.removeWorks(g, "karmada-es-edge-2", "karmada-es-edge-3")
	out, _ = l.run(ExitDone, "wait", "deployment/web")
	g.Expect(out).To(Equal("Deployment default/web is ready\n"))
	template := builder.MakeDeployment("default", "web").Obj()
	g.Expect(l.c.Get(l.t.Context(), client.ObjectKeyFromObject(template), template)).To(Succeed())
	template.SetLabels(map[string]string{"new": "label"})
	g.Expect(l.c.Update(l.t.Context(), template)).To(Succeed())
	_, said = l.run(ExitTimeout, "wait", "deployment/web", "--timeout", "1s")
	g.Expect(said).To(ContainSubstring("edge-1 was not sent the latest change yet."), "its status is about the version before")
	out, said = l.run(ExitNo, "diff", "deployment/web", "--cluster", "edge-1")
	g.Expect(out).To(ContainSubstring("+      new: label\n"))
	g.Expect(said).To(ContainSubstring("1 of 1 clusters were sent something other than is rendered now"))
}

// removeWorks removes the Works in namespaces, as if their agents had released them.
func (l *lookout) removeWorks(g *WithT, namespaces ...string) {
	for _, namespace := range namespaces {
		var works workv1alpha1.WorkList
		g.Expect(l.c.List(l.t.Context(), &works, client.InNamespace(namespace))).To(Succeed())
		for i := range works.Items {
			w := &works.Items[i]
			w.Finalizers = nil
			g.Expect(l.c.Update(l.t.Context(), w)).To(Succeed())
			g.Expect(l.c.Delete(l.t.Context(), w)).To(Succeed())
		}
	}
}

// withoutRights checks what a user with few rights sees.
func (l *lookout) withoutRights(g *WithT) {
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "few"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"cluster.karmada.io"}, Resources: []string{"clusters"}, Verbs: []string{"get", "list"}},
	}}
	l.create(role, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "few"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "few"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "jane"}},
	})
	raw, err := clientcmd.LoadFromFile(l.hub.Kubeconfig)
	g.Expect(err).NotTo(HaveOccurred())
	for _, user := range raw.AuthInfos {
		user.Impersonate = "jane"
	}
	file := l.t.TempDir() + "/jane.kubeconfig"
	g.Expect(clientcmd.WriteToFile(*raw, file)).To(Succeed())
	g.Eventually(func() int {
		e := execution{env: l.env}
		return e.run(l.t.Context(), "clusters", "--kubeconfig", file)
	}, waitTimeout, poll).Should(Equal(ExitDone), "RBAC takes a moment to see the binding")
	out, said := l.run(ExitDone, "clusters", "--kubeconfig", file)
	g.Expect(out).To(MatchRegexp(`edge-1 +Ready +- +v1.36.3`))
	g.Expect(said).To(And(
		ContainSubstring("You may not read the leases of the agents"), ContainSubstring("You may not read Works"),
		ContainSubstring("You may not read certificate requests"),
	))
	_, said = l.run(ExitFailed, "get", "--kubeconfig", file)
	g.Expect(said).To(And(ContainSubstring("listing resourcebindings"), ContainSubstring("ask an administrator of the hub for that right")))

	raw.Clusters[raw.Contexts[raw.CurrentContext].Cluster] = &clientcmdapi.Cluster{Server: "https://127.0.0.1:1"}
	g.Expect(clientcmd.WriteToFile(*raw, file)).To(Succeed())
	_, said = l.run(ExitFailed, "top", "--kubeconfig", file)
	g.Expect(said).To(ContainSubstring("check whether the hub is running, and its address in your kubeconfig"))
}

func TestHowFarAnApplicationIs(t *testing.T) {
	t.Parallel()
	well := applications.Application{State: applications.Healthy, Counts: applications.Counts{Wanted: 2, Ready: 2, Applied: 2, Healthy: 2}}
	sick := applications.Application{State: applications.Unhealthy, Counts: applications.Counts{Wanted: 2, Ready: 1, Applied: 2, Healthy: 1}, Why: "b: sick"}
	moving := applications.Application{State: applications.Moving, Counts: applications.Counts{Wanted: 2, Ready: 2, Applied: 2, Healthy: 2, Leaving: 1}}
	moved := applications.Application{State: applications.Healthy, Counts: applications.Counts{Wanted: 2, Ready: 2, Applied: 2, Healthy: 2, Leaving: 1}, Why: "Leaving s."}
	none := applications.Application{State: applications.Waiting}
	cases := map[string]struct {
		a     applications.Application
		until string
		done  bool
	}{
		"healthy is ready":                               {well, untilReady, true},
		"healthy is applied":                             {well, untilApplied, true},
		"sick is applied":                                {sick, untilApplied, true},
		"sick is not ready":                              {sick, untilReady, false},
		"moving is not ready":                            {moving, untilReady, false},
		"moving is not applied: it is somewhere else":    {moving, untilApplied, false},
		"well, and left in a silent cluster, is ready":   {moved, untilReady, true},
		"well, and left in a silent cluster, is applied": {moved, untilApplied, true},
		"moving is scheduled":                            {moving, untilScheduled, true},
		"nowhere is not scheduled":                       {none, untilScheduled, false},
		"nowhere is not ready":                           {none, untilReady, false},
		"there is not deleted":                           {well, untilDeleted, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(progressOf(&tc.a, tc.until).done).To(Equal(tc.done))
		})
	}
}
