package admit

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
)

// TestRetriesFitIntoAStatus has a person ask for ten thousand tries, of clusters that there are not, and of one again and again.
func TestRetriesFitIntoAStatus(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := fleet(20)
	in.Status = Decide(in).Status
	again := func(cluster, attempt string) fairleadv1alpha1.ClusterAtRevision {
		return fairleadv1alpha1.ClusterAtRevision{Revision: 2, Cluster: cluster, Attempt: attempt}
	}
	name := in.Clusters[2].Cluster.Name
	for n := range 5000 {
		in.Spec.Retry = append(in.Spec.Retry, again(fmt.Sprintf("stranger-%d", n), ""), again(name, fmt.Sprint(n)))
	}
	last := []fairleadv1alpha1.ClusterAtRevision{again(name, "4999")}
	d := Decide(in)
	g.Expect(d.Status.Retried).To(Equal(last))
	g.Expect(d.Urgent).To(BeTrue(), "a person waits for it")

	in.Status, in.Memory = d.Status, d.Memory
	clusters := in.Clusters
	in.Clusters = append(in.Clusters[:2:2], in.Clusters[3:]...)
	d = Decide(in)
	g.Expect(d.Status.Retried).To(Equal(last), "who comes back is not granted it anew")
	in.Status, in.Memory, in.Clusters = d.Status, d.Memory, clusters
	in.Spec.Retry = append(in.Spec.Retry, again(name, "5000"))
	d = Decide(in)
	g.Expect(d.Status.Retried).To(Equal([]fairleadv1alpha1.ClusterAtRevision{again(name, "5000")}))
	g.Expect(d.Urgent).To(BeTrue(), "one more")
}
