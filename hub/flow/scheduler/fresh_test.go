package scheduler

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"

	"sigs.k8s.io/controller-runtime/pkg/cache"
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

// caching is a client with a cache of the Clusters in a store.
type caching struct {
	client.Client

	store toolscache.Indexer
	lists int
}

// GetInformer implements kube.Informed.
func (c *caching) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return storing{store: listed{Indexer: c.store, lists: &c.lists}}, nil
}

// storing is an informer that has synced.
type storing struct {
	toolscache.SharedIndexInformer

	store toolscache.Indexer
}

func (s storing) HasSynced() bool                { return true }
func (s storing) GetIndexer() toolscache.Indexer { return s.store }

// listed counts how often a store is listed.
type listed struct {
	toolscache.Indexer

	lists *int
}

func (l listed) List() []any {
	*l.lists++
	return l.Indexer.List()
}

// TestASnapshotHoldsUntilTheNextChange has a cache that is ahead of the snapshot after each kind of change: what is listed once holds
// until the next one.
func TestASnapshotHoldsUntilTheNextChange(t *testing.T) {
	t.Parallel()
	g, ctx := NewWithT(t), t.Context()
	hub := &caching{store: toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{})}
	r := &reconciler{hubClient: hub, snapshot: &snapshot{}}
	of := func(name, version, site string) *clusterv1alpha1.Cluster {
		c := builder.MakeCluster(name).Label("site", site).Obj()
		c.ResourceVersion = version
		return c
	}
	asks := func(want ...string) {
		t.Helper()
		for range 3 {
			got, err := r.freshClusters(ctx)
			g.Expect(err).NotTo(HaveOccurred())
			sites := []string{}
			for _, c := range got {
				sites = append(sites, c.Name+" "+c.Labels["site"])
			}
			g.Expect(sites).To(Equal(want))
		}
	}
	listed := func() int {
		n := hub.lists
		hub.lists = 0
		return n
	}
	g.Expect(hub.store.Add(of("a", "1", "shop"))).To(Succeed())
	g.Expect(hub.store.Add(of("b", "2", "shop"))).To(Succeed())
	asks("a shop", "b shop")
	g.Expect(listed()).To(Equal(1))
	g.Expect(hub.store.Update(of("a", "3", "ship"))).To(Succeed())
	asks("a ship", "b shop")
	g.Expect(listed()).To(Equal(1))
	r.snapshot.Set(of("a", "3", "ship")) // the snapshot has heard of it: what is remembered of its object holds
	asks("a ship", "b shop")
	g.Expect(listed()).To(Equal(1))
	g.Expect(hub.store.Delete(of("b", "4", "shop"))).To(Succeed())
	asks("a ship")
	g.Expect(listed()).To(Equal(1))
	g.Expect(hub.store.Replace([]any{of("c", "3", "shop")}, "9")).To(Succeed()) // after a watch that was lost
	asks("c shop")
	g.Expect(listed()).To(Equal(1))
}
