package cli

import (
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"sigs.k8s.io/controller-runtime/pkg/client"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/test/builder"
)

// in returns a lookout whose commands use a context with this namespace.
func (l *lookout) in(namespace string) *lookout {
	l.t.Helper()
	g := NewWithT(l.t)
	config, err := clientcmd.LoadFromFile(l.hub.Kubeconfig)
	g.Expect(err).NotTo(HaveOccurred())
	config.Contexts[config.CurrentContext].Namespace = namespace
	file := filepath.Join(l.t.TempDir(), namespace+".kubeconfig")
	g.Expect(clientcmd.WriteToFile(*config, file)).To(Succeed())
	out := *l
	out.env = map[string]string{"KUBECONFIG": file}
	return &out
}

// namespaces has a Deployment web in two namespaces, each with a rollout in progress: a command must act on the one
// that kubectl would pick.
func (l *lookout) namespaces(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	l.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}})
	template := builder.MakeDeployment("shop", "web").Obj()
	l.create(template)
	placed := &workv1alpha2.ResourceBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-deployment"},
		Spec: workv1alpha2.ResourceBindingSpec{
			Resource:  workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web", UID: template.GetUID()},
			Placement: &policyv1alpha1.Placement{}, Clusters: []workv1alpha2.TargetCluster{{Name: "edge-1"}},
		},
	}
	l.create(placed)
	defer func() { g.Expect(l.c.Delete(t.Context(), placed)).To(Succeed()) }()
	rollouts := map[string]*fairleadv1alpha1.StagedRollout{}
	for _, namespace := range []string{"default", "shop"} {
		b := &workv1alpha2.ResourceBinding{}
		g.Expect(l.c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "web-deployment"}, b)).To(Succeed())
		metav1.SetMetaDataAnnotation(&b.ObjectMeta, contract.RolloutStrategyAnnotation, "calm")
		g.Expect(l.c.Update(t.Context(), b)).To(Succeed())
		defer func() {
			delete(b.Annotations, contract.RolloutStrategyAnnotation)
			g.Expect(l.c.Update(t.Context(), b)).To(Succeed())
		}()
		ro := &fairleadv1alpha1.StagedRollout{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: b.Name}}
		l.create(ro)
		defer func() { g.Expect(l.c.Delete(t.Context(), ro)).To(Succeed()) }()
		ro.Status = fairleadv1alpha1.StagedRolloutStatus{
			Strategy: "calm", Phase: fairleadv1alpha1.RolloutProgressing, Revision: 2, Stable: 1, Wave: "all", Waves: []fairleadv1alpha1.WaveStatus{{Name: "all", Size: 1}},
			Revisions: []fairleadv1alpha1.RevisionStatus{{Number: 1, Hash: "a", CreatedAt: metav1.Now()}, {Number: 2, Hash: "b", CreatedAt: metav1.Now()}},
		}
		g.Expect(l.c.Status().Update(t.Context(), ro)).To(Succeed())
		rollouts[namespace] = ro
	}
	target := func(namespace string) *fairleadv1alpha1.RolloutTarget {
		ro := &fairleadv1alpha1.StagedRollout{}
		g.Expect(l.c.Get(t.Context(), client.ObjectKeyFromObject(rollouts[namespace]), ro)).To(Succeed())
		return ro.Spec.Target
	}
	shop := l.in("shop")

	shop.run(ExitDone, "rollout", "abort", "deployment/web")
	g.Expect(target("shop")).NotTo(BeNil(), "the context says shop")
	g.Expect(target("default")).To(BeNil(), "nobody named it")
	out, _ := shop.run(ExitDone, "rollout", "pause", "deployment/web", "-n", "default")
	g.Expect(out).To(ContainSubstring("`hub rollout resume deployment/web -n default` resumes it"), "without the namespace it would resume another one")

	const one = "deployment/web"
	for _, args := range [][]string{{"get", one}, {"tree", one}, {"explain", one}, {"rollout", "status", one}, {"wait", one, "--for", "scheduled"}, {"diff", one}, {"events", one}} {
		status := map[string]int{"rollout": ExitNo, "diff": ExitNo}[args[0]]
		out, said := shop.run(status, args...)
		g.Expect(out+said).NotTo(ContainSubstring("default/web"), "%q", args)
	}
	out, _ = shop.run(ExitDone, "get", one, "-n", "default")
	g.Expect(out).To(MatchRegexp(`default +deployment/web`))
	_, said := shop.run(ExitFailed, "get", one, "-A")
	g.Expect(said).To(Equal("Error: an object cannot be named together with -A: leave out -A or the name\n"))

	for _, list := range [][]string{{"get"}, {"rollout", "status"}} {
		out, _ = shop.run(ExitDone, list...)
		g.Expect(out).To(And(MatchRegexp(`shop +`), Not(MatchRegexp(`default +`))), "%q", list)
		out, _ = shop.run(ExitDone, append(list, "-n", "default")...)
		g.Expect(out).To(And(MatchRegexp(`default +`), Not(MatchRegexp(`shop +`))), "%q", list)
		out, _ = shop.run(ExitDone, append(list, "-A", "-n", "default")...)
		g.Expect(out).To(And(MatchRegexp(`default +`), MatchRegexp(`shop +`)), "%q", list)
		out, _ = l.run(ExitDone, list...)
		g.Expect(out).To(And(MatchRegexp(`default +`), Not(MatchRegexp(`shop +`))), "%q: a context without a namespace means default", list)
	}
	_, said = shop.run(ExitDone, "events", "--since", "1ns")
	g.Expect(said).To(Equal("No such events in namespace shop (`hub events -A` looks in all); events are kept for an hour\n"))
	out, _ = shop.run(ExitDone, "__complete", "rollout", "abort", "")
	g.Expect(out).To(HavePrefix("deployment/web\n:"), "that of its own namespace only")

	// --check requires a namespace or -A, so that it never vouches for a namespace that nobody named.
	_, said = l.run(ExitFailed, "get", "--check")
	g.Expect(said).To(HavePrefix("Error: --check needs a namespace"))
	_, said = shop.run(ExitNo, "get", "--check")
	g.Expect(said).To(HaveSuffix("Error: 1 of 1 applications are not healthy\n"))
	_, said = l.run(ExitNo, "get", "--check", "-A")
	g.Expect(said).To(HaveSuffix("Error: 2 of 2 applications are not healthy\n"))
}
