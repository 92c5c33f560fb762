package kube_test

import (
	"context"
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/test/filled"
)

// TestListsHaveWhatIsInTheCache checks that lists for reading only return the cached objects themselves, and the same
// set as a list with copies.
func TestListsHaveWhatIsInTheCache(t *testing.T) {
	g := NewWithT(t)
	size := filled.Fleet{Clusters: 5, Bindings: 40, Namespaces: 3, Policies: 2}
	hub := filled.New(t, cache.Options{}, size.Objects()...)
	for name, reader := range map[string]client.Reader{"client": hub.Client, "cache": hub.Cache} {
		first, err := kube.Clusters(t.Context(), reader)
		g.Expect(err).NotTo(HaveOccurred())
		second, err := kube.Clusters(t.Context(), reader)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(first).To(HaveLen(size.Clusters), name)
		for _, c := range first {
			g.Expect(slices.Contains(second, c)).To(BeTrue(), "%s: the same address", name)
		}
		for _, opts := range [][]client.ListOption{
			nil,
			{client.InNamespace(size.NamespaceOf(1))},
			{client.InNamespace("nowhere")},
			{client.MatchingLabels{"resourcebinding.karmada.io/permanent-id": "none"}},
			{client.HasLabels{"resourcebinding.karmada.io/permanent-id"}},
			{client.InNamespace(size.NamespaceOf(0)), client.MatchingLabels(size.Binding(0).Labels)},
			{client.Limit(2)},
		} {
			var copies workv1alpha2.ResourceBindingList
			g.Expect(reader.List(t.Context(), &copies, opts...)).To(Succeed())
			found, err := kube.ResourceBindings().List(t.Context(), reader, opts...)
			g.Expect(err).NotTo(HaveOccurred())
			if len(opts) == 1 && opts[0] == client.Limit(2) {
				g.Expect(found).To(HaveLen(2), "which ones is up to the cache")
				continue
			}
			var want, got []string
			for i := range copies.Items {
				want = append(want, client.ObjectKeyFromObject(&copies.Items[i]).String()+copies.Items[i].ResourceVersion)
			}
			for _, b := range found {
				got = append(got, client.ObjectKeyFromObject(b).String()+b.GetResourceVersion())
			}
			g.Expect(got).To(ConsistOf(want), "%s: %v", name, opts)
		}
	}
	there, err := kube.ResourceBindings().Naming(t.Context(), hub.Client, filled.ClusterName(3))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(there).To(HaveLen(size.Bindings/size.Clusters), "by an index")
}

// TestClustersAreReadByName checks that the cached objects themselves are returned if there is a cache, and else what
// the API returns.
func TestClustersAreReadByName(t *testing.T) {
	g := NewWithT(t)
	size := filled.Fleet{Clusters: 5}
	hub := filled.New(t, cache.Options{}, size.Cluster(0), size.Cluster(1), size.Cluster(2))
	scheme, err := kube.NewScheme()
	g.Expect(err).NotTo(HaveOccurred())
	plain := fake.NewClientBuilder().WithScheme(scheme).WithObjects(size.Cluster(0), size.Cluster(1), size.Cluster(2)).Build()
	names := []string{filled.ClusterName(2), filled.ClusterName(0), filled.ClusterName(2), "nobody"}
	for name, reader := range map[string]client.Reader{"client": hub.Client, "no cache": plain, "no first list yet": informed{plain, severalStores{}}} {
		found, err := kube.ClustersNamed(t.Context(), reader, slices.Values(names))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(found).To(HaveLen(2), name)
		for _, i := range []int{0, 2} {
			g.Expect(found[filled.ClusterName(i)].UID).To(Equal(size.Cluster(i).UID), name)
		}
	}
	all, err := kube.Clusters(t.Context(), hub.Client)
	g.Expect(err).NotTo(HaveOccurred())
	found, err := kube.ClustersNamed(t.Context(), hub.Client, slices.Values(names))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(slices.Contains(all, found[filled.ClusterName(0)])).To(BeTrue(), "the same address")
}

// informed is a reader whose cache has a configurable informer.
type informed struct {
	client.Reader
	informer cache.Informer
}

func (i informed) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return i.informer, nil
}

// severalStores is an informer that keeps its objects in more than one store.
type severalStores struct {
	cache.Informer
	synced bool
}

func (s severalStores) HasSynced() bool { return s.synced }

func TestAReaderWithoutAStoreIsAskedForAList(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	scheme, err := kube.NewScheme()
	g.Expect(err).NotTo(HaveOccurred())
	size := filled.Fleet{Clusters: 2}
	plain := fake.NewClientBuilder().WithScheme(scheme).WithObjects(size.Cluster(0), size.Cluster(1)).Build()
	for name, reader := range map[string]client.Reader{
		"no cache":                       plain,
		"no first list yet":              informed{plain, severalStores{}},
		"only some namespaces in caches": informed{plain, severalStores{synced: true}},
	} {
		found, err := kube.Clusters(t.Context(), reader)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(found).To(HaveLen(2), name)
	}
}

// attachedTo is the binding of the settings of the i-th application, which only that one needs.
func attachedTo(size filled.Fleet, i int) *workv1alpha2.ResourceBinding {
	workload := size.Binding(i)
	b := size.Binding(size.Bindings + i)
	b.Namespace = workload.Namespace
	b.Labels[contract.DependedByLabelPrefix+contract.Hash(workload.Namespace+"/"+workload.Name)] = "id"
	b.Spec.RequiredBy = []workv1alpha2.BindingSnapshot{{Namespace: workload.Namespace, Name: workload.Name, Clusters: workload.Spec.Clusters}}
	return b
}

// TestWhatAWorkloadNeedsIsFound checks that the cache returns the bindings of both kinds that a workload needs,
// whichever kind the workload's has, and no others.
func TestWhatAWorkloadNeedsIsFound(t *testing.T) {
	g := NewWithT(t)
	size := filled.Fleet{Clusters: 5, Bindings: 40, Namespaces: 3}
	objects := size.Objects()
	for i := range size.Bindings / 2 {
		objects = append(objects, attachedTo(size, i))
	}
	elsewhere := attachedTo(size, 1)
	elsewhere.Namespace, elsewhere.Name = size.NamespaceOf(2), "of-another-namespace"
	class := &workv1alpha2.ClusterResourceBinding{}
	class.Name, class.Spec.RequiredBy = "fast-storageclass", elsewhere.Spec.RequiredBy
	needy := class.DeepCopy()
	needy.Name, needy.Spec.RequiredBy = "needed-by-a-cluster-scoped-one", []workv1alpha2.BindingSnapshot{{Name: "fast-storageclass"}}
	hub := filled.New(t, cache.Options{}, append(objects, elsewhere, class, needy)...)
	names := func(kind kube.BindingKind, by types.NamespacedName) []string {
		found, err := kind.NeededBy(t.Context(), hub.Client, by)
		g.Expect(err).NotTo(HaveOccurred())
		var out []string
		for _, b := range found {
			out = append(out, client.ObjectKeyFromObject(b).String())
		}
		return out
	}
	for i := range size.Bindings {
		workload, want := client.ObjectKeyFromObject(size.Binding(i)), []string{}
		if i < size.Bindings/2 {
			want = append(want, client.ObjectKeyFromObject(attachedTo(size, i)).String())
		}
		if i == 1 {
			want = append(want, client.ObjectKeyFromObject(elsewhere).String())
			g.Expect(names(kube.ClusterResourceBindings(), workload)).To(ConsistOf("/fast-storageclass"))
		}
		g.Expect(names(kube.ResourceBindings(), workload)).To(ConsistOf(want))
	}
	g.Expect(names(kube.ClusterResourceBindings(), types.NamespacedName{Name: class.Name})).To(ConsistOf("/" + needy.Name))
}

// BenchmarkNeededBy measures the lookup of the one binding that a workload needs among 50,000 others.
func BenchmarkNeededBy(b *testing.B) {
	size := filled.Fleet{Clusters: 1, Bindings: 50000}
	var objects []client.Object
	for i := range size.Bindings {
		objects = append(objects, size.Binding(i))
	}
	hub := filled.New(b, cache.Options{DefaultTransform: cache.TransformStripManagedFields()}, append(objects, attachedTo(size, 0))...)
	b.ReportAllocs()
	cpu := filled.ReportCPU(b)
	for b.Loop() {
		if found, err := kube.ResourceBindings().NeededBy(b.Context(), hub.Client, client.ObjectKeyFromObject(size.Binding(0))); len(found) != 1 || err != nil {
			b.Fatal(len(found), err)
		}
	}
	cpu()
}

// BenchmarkLists measures lists of all clusters, and of all bindings.
func BenchmarkLists(b *testing.B) {
	size := filled.Fleet{Clusters: 5000, Bindings: 50000}
	var objects []client.Object
	for i := range size.Clusters {
		objects = append(objects, size.Cluster(i))
	}
	for i := range size.Bindings {
		objects = append(objects, size.Binding(i))
	}
	hub := filled.New(b, cache.Options{DefaultTransform: cache.TransformStripManagedFields()}, objects...)
	for _, tt := range []struct {
		name string
		list func() (int, error)
	}{
		{"clusters", func() (int, error) {
			found, err := kube.Clusters(b.Context(), hub.Client)
			return len(found), err
		}},
		{"bindings", func() (int, error) {
			found, err := kube.ResourceBindings().List(b.Context(), hub.Client)
			return len(found), err
		}},
	} {
		b.Run(tt.name, func(b *testing.B) {
			b.ReportAllocs()
			cpu := filled.ReportCPU(b)
			for b.Loop() {
				if n, err := tt.list(); n == 0 || err != nil {
					b.Fatal(n, err)
				}
			}
			cpu()
		})
	}
}
