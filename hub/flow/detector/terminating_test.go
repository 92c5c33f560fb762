package detector

import (
	"testing"

	. "github.com/onsi/gomega"

	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/kube"
	"fairlead.dev/test/stagetest"
)

// TestTemplatesOfDeletedNamespaceKeepTheirPolicy deletes a PropagationPolicy together with its namespace, before its templates,
// while a ClusterPropagationPolicy also selects them. Under that policy, objects that should stay in the members would be deleted.
func TestTemplatesOfDeletedNamespaceKeepTheirPolicy(t *testing.T) {
	s := start(t)
	g := NewWithT(t)
	policy, template := s.policy("own", named("v1", "ConfigMap", "a")), s.configMap("a")
	policy.Spec.PreserveResourcesOnDeletion = new(true)
	s.create(t, policy, template)
	s.eventually(t, "a-configmap", claimedBy("own"))
	s.clusterPolicy(t, policyv1alpha1.PropagationSpec{
		ResourceSelectors: []policyv1alpha1.ResourceSelector{{APIVersion: "v1", Kind: "ConfigMap", Namespace: s.namespace, Name: "a"}},
		Placement:         policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"edge-2"}}},
	})

	b := s.eventually(t, "a-configmap", claimedBy("own"))
	stagetest.Terminate(t, s.client, b, template)
	g.Eventually(func() (policyv1alpha1.Policy, error) {
		return kube.PolicyNamed(t.Context(), s.client, s.namespace, "own")
	}, stagetest.Timeout, stagetest.Poll).Should(BeNil(), "the policy is deleted although its templates still exist")
	s.eventually(t, "a-configmap", claimedBy(""))
	// The template must not get another policy, whatever requests it.
	g.Expect(s.client.Patch(t.Context(), template, client.RawPatch("application/merge-patch+json", []byte(`{"data":{"k":"w"}}`)))).To(Succeed())
	g.Consistently(func() *workv1alpha2.ResourceBindingSpec {
		b, err := s.binding(t.Context(), "a-configmap")
		g.Expect(err).NotTo(HaveOccurred())
		claimedBy("")(g, b)
		return &b.Spec
	}, stagetest.Quiet, stagetest.Poll).Should(And(
		HaveField("PreserveResourcesOnDeletion", HaveValue(BeTrue())), HaveField("Placement.ClusterAffinity.ClusterNames", ConsistOf("edge-1"))))
}
