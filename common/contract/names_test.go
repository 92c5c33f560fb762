package contract

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestHashGivesTheNamesThatThisAPIIsKnownFor(t *testing.T) {
	g := NewWithT(t)
	g.Expect(Hash("ns-foorand")).To(Equal("b4978784"))
	g.Expect(Hash("default-foo-deployment")).To(Equal("58bcf5bd9c"))
}

func TestNames(t *testing.T) {
	g := NewWithT(t)
	g.Expect(BindingName("Deployment", "nginx")).To(Equal("nginx-deployment"))
	g.Expect(BindingName("ClusterRole", "system:view")).To(Equal("system.view-clusterrole"))
	g.Expect(WorkName("Deployment", "default", "foo")).To(Equal("foo-58bcf5bd9c"))
	g.Expect(WorkName("ClusterRole", "", "System:View")).To(Equal("system.view-" + Hash("system.view-clusterrole")))
	g.Expect(ExecutionNamespace(DefaultExecutionNamespacePrefix, "edge-1")).To(Equal("karmada-es-edge-1"))

	cluster, ok := ClusterOf(DefaultExecutionNamespacePrefix, "karmada-es-edge-1")
	g.Expect(ok).To(BeTrue())
	g.Expect(cluster).To(Equal("edge-1"))
	_, ok = ClusterOf(DefaultExecutionNamespacePrefix, "default")
	g.Expect(ok).To(BeFalse())
}

func TestAgentCluster(t *testing.T) {
	g := NewWithT(t)
	cluster, ok := AgentCluster(AgentUser("edge-1"))
	g.Expect(ok).To(BeTrue())
	g.Expect(cluster).To(Equal("edge-1"))
	_, ok = AgentCluster("system:karmada:agent:")
	g.Expect(ok).To(BeFalse())
	_, ok = AgentCluster("alice")
	g.Expect(ok).To(BeFalse())
}

func TestOnlyTheWordsOfThisAPIAreAnIntentToDelete(t *testing.T) {
	g := NewWithT(t)
	for _, word := range []string{DeletionRemoved, DeletionMoved, DeletionEvicted, DeletionClusterLeft} {
		g.Expect(DeletionIntended(map[string]string{DeletionIntentAnnotation: word})).To(BeTrue(), word)
		g.Expect(DeletesObjects(map[string]string{DeletionIntentAnnotation: word})).To(Equal(word != DeletionClusterLeft), word)
	}
	former := map[string]string{DeletionIntentAnnotation: "cluster-removed"}
	g.Expect(DeletionIntended(former)).To(BeTrue(), "of a hub of before")
	g.Expect(DeletesObjects(former)).To(BeFalse())
	g.Expect(DeletionClusterLeft).NotTo(Equal("cluster-removed"), "by which agents of before take what is there")
	g.Expect(DeletionIntended(nil)).To(BeFalse())
	g.Expect(DeletesObjects(nil)).To(BeFalse())
	g.Expect(DeletionIntended(map[string]string{DeletionIntentAnnotation: "yes"})).To(BeFalse())
}
