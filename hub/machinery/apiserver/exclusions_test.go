package apiserver

import (
	"context"
	"regexp"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/selector"
	"fairlead.dev/test/cluster"
)

// warnings records the warnings of an API server.
type warnings struct {
	mu   sync.Mutex
	said []string
}

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (w *warnings) HandleWarningHeaderWithContext(_ context.Context, _ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.said = append(w.said, text)
}

func (w *warnings) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	said := w.said
	w.said = nil
	return said
}

// What stays on the hub is told to everybody who has signed in, and to who writes a policy for it.
func TestExclusionsAreToldToEverybody(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	hub := cluster.Start(t, cluster.Options{Name: "stays"})
	install := func(expressions ...string) {
		t.Helper()
		var skipped []*regexp.Regexp
		for _, x := range expressions {
			skipped = append(skipped, regexp.MustCompile(x))
		}
		g.Expect(Install(t.Context(), hub.Config, Options{Exclusions: new(selector.NewExclusions("karmada-es-", skipped, selector.SkippedKinds{}))})).To(Succeed())
	}
	install("kube-.*", `x"\d`)
	scheme, err := kube.NewScheme()
	g.Expect(err).NotTo(HaveOccurred())

	somebody := rest.CopyConfig(hub.Config)
	somebody.Impersonate = rest.ImpersonationConfig{UserName: "jane", Groups: []string{"system:authenticated"}}
	reader, err := client.New(somebody, client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())
	var read *selector.Exclusions
	g.Eventually(func() (err error) { read, err = GetExclusions(t.Context(), reader); return err }, "1m", "50ms").Should(Succeed(), "rights come a moment later")
	g.Expect(read.WhyNamespace("kube-x")).NotTo(BeEmpty())
	g.Expect(read.WhyNamespace("shop")).To(BeEmpty())

	said := &warnings{}
	cfg := rest.CopyConfig(hub.Config)
	cfg.WarningHandlerWithContext = said
	author, err := client.New(cfg, client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())
	for _, name := range []string{"kube-x", "shop", "y1"} {
		g.Expect(author.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})).To(Succeed())
	}
	policy := func(namespace string) client.Object {
		spec := policyv1alpha1.PropagationSpec{ResourceSelectors: []policyv1alpha1.ResourceSelector{{APIVersion: "apps/v1", Kind: "Deployment"}}}
		return &policyv1alpha1.PropagationPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "p-"}, Spec: spec}
	}
	wide := func(s policyv1alpha1.ResourceSelector) client.Object {
		return &policyv1alpha1.ClusterPropagationPolicy{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "p-"}, Spec: policyv1alpha1.PropagationSpec{ResourceSelectors: []policyv1alpha1.ResourceSelector{s}},
		}
	}
	warned := func(obj client.Object) []string {
		g.Expect(author.Create(t.Context(), obj, client.DryRunAll)).To(Succeed(), "nothing is refused")
		return said.take()
	}
	const about = "namespace kube-x stays on the hub with all of its objects"
	g.Eventually(func() []string { return warned(policy("kube-x")) }, "1m", "50ms").Should(ConsistOf(ContainSubstring(about)))
	g.Expect(warned(policy("karmada-cluster"))).To(ConsistOf(ContainSubstring("namespace karmada-cluster stays")))
	g.Expect(warned(policy("shop"))).To(BeEmpty())
	g.Expect(warned(wide(policyv1alpha1.ResourceSelector{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "kube-x"}))).To(ConsistOf(ContainSubstring(about)))
	g.Expect(warned(wide(policyv1alpha1.ResourceSelector{APIVersion: "v1", Kind: "Namespace", Name: "kube-x"}))).To(ConsistOf(ContainSubstring(about)))
	g.Expect(warned(wide(policyv1alpha1.ResourceSelector{APIVersion: "apps/v1", Kind: "Deployment"}))).To(BeEmpty(), "all namespaces")

	// Another flag at the next start.
	install(`y\d`)
	g.Eventually(func() []string { return warned(policy("y1")) }, time.Minute, "50ms").Should(ConsistOf(ContainSubstring("namespace y1 stays")))
	g.Expect(warned(policy("kube-x"))).To(BeEmpty())
	read, err = GetExclusions(t.Context(), reader)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(read.WhyNamespace("kube-x")).To(BeEmpty())
}
