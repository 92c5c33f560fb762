package integration

import (
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/kube/watchset"
	"fairlead.dev/hub/people/view"
	"fairlead.dev/test/builder"
)

// TestAPolicyForWhatStaysOnTheHubSaysSo creates a policy in a namespace that the operator excludes from propagation:
// nothing is propagated, and every command and object says why.
func TestAPolicyForWhatStaysOnTheHubSaysSo(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := shared(t)
	hub := s.hub.Client(t)
	const ns = "kube-x"
	template := builder.MakeDeployment(ns, "web").Obj()
	policy := builder.MakePolicy(ns, "web").Select("apps/v1", "Deployment", "web").Clusters("edge-1").Obj()
	s.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}})
	s.create(t, template, policy)
	eventually(t, func(g Gomega) {
		var events corev1.EventList
		g.Expect(hub.List(t.Context(), &events, client.InNamespace(ns))).To(Succeed())
		g.Expect(events.Items).To(ContainElement(And(
			HaveField("InvolvedObject.Name", "web"), HaveField("Reason", "StaysOnHub"), HaveField("Type", corev1.EventTypeWarning),
			HaveField("Message", ContainSubstring("namespace kube-x is one of those that --skipped-propagating-namespaces of the hub keeps there")))))
	})

	kinds, err := discovery.NewDiscoveryClientForConfig(s.hub.Config)
	g.Expect(err).NotTo(HaveOccurred())
	served := watchset.ServedThrough(discovery.ToServerResourcesInterfaceWithContext(memory.NewMemCacheClient(kinds)), clock.RealClock{})
	reader, err := view.New(hub, hub.RESTMapper(), served, clock.RealClock{})
	g.Expect(err).NotTo(HaveOccurred())
	ref := view.Ref{GroupVersionKind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, Namespace: ns, Name: "web"}
	report, err := reader.Explain(t.Context(), ref)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(report.Stays).To(ContainSubstring("namespace kube-x"))
	g.Expect(report.Advice).To(ContainSubstring("No policy can propagate this object."))
	supposed := policy.DeepCopy()
	supposed.Spec.Placement.ClusterAffinity.ClusterNames = []string{"edge-1", "edge-2"}
	reports, err := reader.WhatIf(t.Context(), []policyv1alpha1.Policy{supposed}, &ref)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(reports).To(ConsistOf(And(HaveField("Stays", ContainSubstring("namespace kube-x")), HaveField("Attempts", BeEmpty()))), "no clusters are promised")
	g.Expect(reports[0].State).NotTo(ContainElement(ContainSubstring("It would go to")))
	idle, err := reader.WhyIdle(t.Context(), policy)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(idle).To(ConsistOf(HavePrefix("Nothing of its namespace is propagated: namespace kube-x")))

	g.Expect(apierrors.IsNotFound(s.get(t, s.member("edge-1"), template))).To(BeTrue())
}
