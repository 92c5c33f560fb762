package operate_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/util/managedfields"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/people/operate"
)

func TestAttemptsRiseWhateverIsWanted(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	scheme, err := kube.NewScheme()
	g.Expect(err).NotTo(HaveOccurred())
	cluster := &clusterv1alpha1.Cluster{}
	cluster.Name = "edge-1"
	hubClient := fake.NewClientBuilder().WithTypeConverters(managedfields.NewDeducedTypeConverter()).WithScheme(scheme).WithObjects(cluster).Build()
	ask := func(image string, again bool, now int64) int64 {
		t.Helper()
		_, err := operate.UpgradeAgent(t.Context(), hubClient, "edge-1", clusterv1alpha1.WantedAgent{Image: image, Attempt: now}, again, contract.FieldManagerCLI)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(hubClient.Get(t.Context(), client.ObjectKeyFromObject(cluster), cluster)).To(Succeed())
		g.Expect(cluster.Spec.Agent.Image).To(Equal(image))
		return cluster.Spec.Agent.Attempt
	}
	g.Expect(ask("agent:v2", false, 1000)).To(BeEquivalentTo(1000))
	g.Expect(ask("agent:v1", false, 1010)).To(BeEquivalentTo(1010))
	g.Expect(ask("agent:v2", false, 1020)).To(BeEquivalentTo(1020), "the verdict about the first attempt is not that about this one")
	g.Expect(ask("agent:v2", false, 1030)).To(BeEquivalentTo(1020), "it is asked for already")
	g.Expect(ask("agent:v2", true, 1040)).To(BeEquivalentTo(1040))
	g.Expect(ask("agent:v2", true, 1040)).To(BeEquivalentTo(1041), "in the same second")
	g.Expect(ask("agent:v3", false, 900)).To(BeEquivalentTo(1042), "though a clock was put back")
}
