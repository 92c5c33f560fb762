package scheduler

import (
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/kube"
	"fairlead.dev/test/builder"
)

// TestOthersAskAboutTheClustersOfTheCache has a snapshot that is behind the cache, and one that is not: then nothing is made anew,
// and what is remembered of the clusters holds for the next who asks.
func TestOthersAskAboutTheClustersOfTheCache(t *testing.T) {
	t.Parallel()
	g, ctx := NewWithT(t), t.Context()
	scheme, err := kube.NewScheme()
	g.Expect(err).NotTo(HaveOccurred())
	hub := fake.NewClientBuilder().WithScheme(scheme).Build()
	r := &reconciler{hubClient: hub, snapshot: &snapshot{}}
	for _, name := range []string{"edge-2", "edge-1", "edge-3"} {
		c := builder.MakeCluster(name).Obj()
		g.Expect(hub.Create(ctx, c)).To(Succeed())
		r.snapshot.Set(c)
	}
	known := r.snapshot.Clusters()
	fresh := func() []*clusterv1alpha1.Cluster {
		out, err := r.freshClusters(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		return out
	}
	same := func(a, b []*clusterv1alpha1.Cluster) bool { return &a[0] == &b[0] }
	g.Expect(same(fresh(), known)).To(BeTrue(), "the list itself")

	changed := known[1].DeepCopy()
	metav1.SetMetaDataLabel(&changed.ObjectMeta, "site", "ship")
	g.Expect(hub.Update(ctx, changed)).To(Succeed())
	got := fresh()
	g.Expect(got).To(HaveLen(3))
	g.Expect(got[0]).To(BeIdenticalTo(known[0]))
	g.Expect(got[1].Labels).To(HaveKeyWithValue("site", "ship"), "the snapshot has not heard of it")
	g.Expect(got[2]).To(BeIdenticalTo(known[2]))

	r.snapshot.Set(changed)
	g.Expect(same(fresh(), r.snapshot.Clusters())).To(BeTrue())
	g.Expect(hub.Delete(ctx, builder.MakeCluster("edge-1").Obj())).To(Succeed())
	g.Expect(fresh()).To(HaveLen(2))
	g.Expect(hub.Create(ctx, builder.MakeCluster("edge-0").Obj())).To(Succeed())
	names := []string{}
	for _, c := range fresh() {
		names = append(names, c.Name)
	}
	g.Expect(names).To(Equal([]string{"edge-0", "edge-2", "edge-3"}), "by name")
	g.Expect(client.ObjectKeyFromObject(known[0]).Name).To(Equal("edge-1"), "nobody changes what a reader has")
}
