package kube

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	. "github.com/onsi/gomega"

	toolscache "k8s.io/client-go/tools/cache"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

// overrideStores is a reader of stores with the indexes of a hub, one for each kind of override policy.
type overrideStores struct {
	client.Reader

	cluster, namespaced toolscache.Indexer
	// read is called before each look at a store.
	read func()
}

// storeInformer is an informer of a store that is filled by hand.
type storeInformer struct {
	toolscache.SharedIndexInformer

	store toolscache.Indexer
}

func (i storeInformer) HasSynced() bool                            { return true }
func (i storeInformer) GetIndexer() toolscache.Indexer             { return i.store }
func (i storeInformer) AddIndexers(more toolscache.Indexers) error { return i.store.AddIndexers(more) }

// GetInformer implements Informed.
func (s *overrideStores) GetInformer(_ context.Context, obj client.Object, _ ...cache.InformerGetOption) (cache.Informer, error) {
	if s.read != nil {
		s.read()
	}
	switch obj.(type) {
	case *policyv1alpha1.ClusterOverridePolicy:
		return storeInformer{store: s.cluster}, nil
	case *policyv1alpha1.OverridePolicy:
		return storeInformer{store: s.namespaced}, nil
	default:
		return storeInformer{store: newStore()}, nil
	}
}

func newStore() toolscache.Indexer {
	return toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{})
}

func newOverrideStores(t *testing.T) *overrideStores {
	t.Helper()
	s := &overrideStores{cluster: newStore(), namespaced: newStore()}
	NewWithT(t).Expect(Index(t.Context(), s)).To(Succeed())
	return s
}

func makeOverridePolicy(namespace, name string, selectors ...policyv1alpha1.ResourceSelector) client.Object {
	if namespace == "" {
		p := &policyv1alpha1.ClusterOverridePolicy{}
		p.Name, p.Spec.ResourceSelectors = name, selectors
		return p
	}
	p := &policyv1alpha1.OverridePolicy{}
	p.Namespace, p.Name, p.Spec.ResourceSelectors = namespace, name, selectors
	return p
}

// TestOverridePoliciesAreFoundByWhatTheySelect adds, changes and removes policies in random order: at every step the
// index must find for each object the same policies as a scan of all.
func TestOverridePoliciesAreFoundByWhatTheySelect(t *testing.T) {
	t.Parallel()
	g, s := NewWithT(t), newOverrideStores(t)
	random := rand.New(rand.NewPCG(29, 8))
	one := func(of ...string) string { return of[random.IntN(len(of))] }
	var objects []*workv1alpha2.ObjectReference
	for _, kind := range []string{"Deployment", "StatefulSet", "Thing"} {
		for _, namespace := range []string{"", "shop", "lab"} {
			for _, name := range []string{"web", "shop"} {
				objects = append(objects, &workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: kind, Namespace: namespace, Name: name})
			}
		}
	}
	some := 0
	for range 2000 {
		var selectors []policyv1alpha1.ResourceSelector
		for range random.IntN(4) {
			selectors = append(selectors, policyv1alpha1.ResourceSelector{
				APIVersion: one("apps/v1", "apps/v1", "apps/v2"), Kind: one("Deployment", "StatefulSet"), Namespace: one("", "shop", "lab"), Name: one("", "web", "shop"),
			})
		}
		p := makeOverridePolicy(one("", "shop", "lab"), fmt.Sprint(random.IntN(6)), selectors...)
		store := s.cluster
		if p.GetNamespace() != "" {
			store = s.namespaced
		}
		if random.IntN(3) == 0 {
			g.Expect(store.Delete(p)).To(Succeed())
		} else {
			g.Expect(store.Update(p)).To(Succeed())
		}
		for _, of := range objects {
			var want, got []string
			for _, item := range append(s.cluster.List(), s.namespaced.List()...) {
				if p, ok := item.(client.Object); ok && IsAbout(p, of) {
					want = append(want, client.ObjectKeyFromObject(p).String())
				}
			}
			found, err := OverridePolicies(t.Context(), s, of)
			g.Expect(err).NotTo(HaveOccurred())
			for i := range found.Cluster {
				got = append(got, client.ObjectKeyFromObject(&found.Cluster[i]).String())
			}
			for i := range found.Namespaced {
				got = append(got, client.ObjectKeyFromObject(&found.Namespaced[i]).String())
			}
			g.Expect(got).To(ConsistOf(want), "%v", of)
			some += len(got)
		}
	}
	g.Expect(some).To(BeNumerically(">", 2000))
	for _, item := range append(s.cluster.List(), s.namespaced.List()...) {
		p, ok := item.(client.Object)
		g.Expect(ok).To(BeTrue())
		g.Expect(s.cluster.Delete(p)).To(Succeed())
		g.Expect(s.namespaced.Delete(p)).To(Succeed())
	}
	g.Expect(s.cluster.ListIndexFuncValues(overridesBySelection)).To(BeEmpty())
	g.Expect(s.namespaced.ListIndexFuncValues(overridesBySelection)).To(BeEmpty())
}

// TestAnOverridePolicyThatIsEditedMeanwhileIsFoundOnce edits a policy before each read of the store: from one that
// names the object to one that selects all of its kind, and back.
func TestAnOverridePolicyThatIsEditedMeanwhileIsFoundOnce(t *testing.T) {
	t.Parallel()
	web := &workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"}
	for edits := range 12 {
		g, s := NewWithT(t), newOverrideStores(t)
		named := true
		edit := func() {
			selector := policyv1alpha1.ResourceSelector{APIVersion: web.APIVersion, Kind: web.Kind}
			if named {
				selector.Name = web.Name
			}
			named = !named
			g.Expect(s.cluster.Update(makeOverridePolicy("", "edited", selector))).To(Succeed())
		}
		edit()
		left := edits
		s.read = func() {
			if left > 0 {
				left--
				edit()
			}
		}
		found, err := OverridePolicies(t.Context(), s, web)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(found.Cluster).To(HaveLen(1), "%d edits", edits)
	}
}
