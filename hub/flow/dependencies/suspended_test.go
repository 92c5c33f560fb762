package dependencies_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/test/stagetest"
)

// TestDependenciesOfSuspendedClusterStay edits a template while dispatching to one of its clusters is suspended.
func TestDependenciesOfSuspendedClusterStay(t *testing.T) {
	w := start(t)
	g := NewWithT(t)
	w.create(t, w.configMap("settings"), w.configMap("more"))
	web, b := w.deployment(t, "web", "settings")
	settings, more := w.attached(t, w.namespace, "settings-configmap"), w.attached(t, w.namespace, "more-configmap")
	g.Eventually(settings, stagetest.Timeout, stagetest.Poll).Should(HaveKey("web-deployment"))
	suspend := func(clusters ...string) {
		change(t, w, b, func(b *workv1alpha2.ResourceBinding) {
			b.Spec.Suspension = &workv1alpha2.Suspension{Suspension: policyv1alpha1.Suspension{
				DispatchingOnClusters: &policyv1alpha1.SuspendClusters{ClusterNames: clusters},
			}}
		})
	}

	suspend("edge-1")
	w.edit(t, web, b, "more")
	g.Eventually(more, stagetest.Timeout, stagetest.Poll).Should(HaveKey("web-deployment"))
	g.Consistently(settings, stagetest.Quiet, stagetest.Poll).Should(HaveKey("web-deployment"))
	g.Expect(w.hub.Get(t.Context(), client.ObjectKeyFromObject(b), b)).To(Succeed())
	g.Expect(b.Annotations[contract.DependenciesAnnotation]).To(MatchJSON(
		`[{"apiVersion":"v1","kind":"ConfigMap","namespace":"`+w.namespace+`","name":"more"}]`), "the record does not name held objects")

	suspend("elsewhere")
	g.Eventually(settings, stagetest.Timeout, stagetest.Poll).Should(BeNil())
	g.Expect(more()).To(HaveKey("web-deployment"))
}
