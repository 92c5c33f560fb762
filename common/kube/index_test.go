package kube

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
)

// indexes records the indexes that are added for ResourceBindings, by name.
type indexes toolscache.Indexers

// indexedInformer takes the indexes of a kind.
type indexedInformer struct {
	cache.Informer

	indexes indexes
}

// AddIndexers implements cache.Informer.
func (i indexedInformer) AddIndexers(more toolscache.Indexers) error {
	maps.Copy(i.indexes, more)
	return nil
}

// GetInformer implements Informed.
func (i indexes) GetInformer(_ context.Context, obj client.Object, _ ...cache.InformerGetOption) (cache.Informer, error) {
	if _, ok := obj.(*workv1alpha2.ResourceBinding); ok {
		return indexedInformer{indexes: i}, nil
	}
	return indexedInformer{indexes: indexes{}}, nil
}

// TestWhatAWorkloadNeedsIsIndexedAsBindingsSay adds, removes and changes bindings that others need, in random order:
// at every step the index must agree with a scan of all bindings.
func TestWhatAWorkloadNeedsIsIndexedAsBindingsSay(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	random := rand.New(rand.NewPCG(29, 8))
	workloads := []types.NamespacedName{
		{Namespace: "shop", Name: "web"}, {Namespace: "shop", Name: "api"}, {Namespace: "other", Name: "web"}, {Name: "web"}, {Name: "shop"},
	}
	all := indexes{}
	g.Expect(Index(t.Context(), all)).To(Succeed())
	store := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers(all))
	for range 3000 {
		b := &workv1alpha2.ResourceBinding{}
		b.Namespace, b.Name = []string{"shop", "other"}[random.IntN(2)], fmt.Sprint(random.IntN(8))
		if random.IntN(4) == 0 {
			g.Expect(store.Delete(b)).To(Succeed())
		} else {
			for range random.IntN(4) {
				by := workloads[random.IntN(len(workloads))]
				if random.IntN(4) == 0 {
					by.Name = "" // all that is in the namespace
				}
				b.Spec.RequiredBy = append(b.Spec.RequiredBy, workv1alpha2.BindingSnapshot{Namespace: by.Namespace, Name: by.Name})
			}
			g.Expect(store.Update(b)).To(Succeed())
		}
		needed := map[types.NamespacedName][]any{}
		for _, obj := range store.List() {
			one, ok := obj.(*workv1alpha2.ResourceBinding)
			g.Expect(ok).To(BeTrue())
			for _, by := range workloads {
				if bindings.Requires(one, by) {
					needed[by] = append(needed[by], obj)
				}
			}
		}
		for _, by := range workloads {
			found, err := store.ByIndex(bindingsByRequirer, by.String())
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(found).To(ConsistOf(needed[by]...), by.String())
		}
		g.Expect(store.ListIndexFuncValues(bindingsByRequirer)).To(HaveLen(len(needed)), "of what nobody needs nothing is left")
	}
}
