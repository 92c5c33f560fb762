package attach_test

import (
	"encoding/json"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/flow/dependencies/attach"
)

// fleet returns the names of a thousand clusters.
func fleet() []string {
	var out []string
	for i := range 1000 {
		out = append(out, fmt.Sprintf("member-%05d", i))
	}
	return out
}

// attached returns a binding to which workloads were attached one after the other, as the stage does.
func attached(b *workv1alpha2.ResourceBinding, workloads ...workv1alpha2.Binding) *workv1alpha2.ResourceBinding {
	for i, w := range workloads {
		attach.To(b, configMap(), settings(), w, "id")
		attach.Options(b, workloads[:i+1])
		attach.Pack(b, workloads[:i+1])
	}
	return b
}

// detached detaches one workload, after which others are left.
func detached(b *workv1alpha2.ResourceBinding, one workv1alpha2.Binding, left ...workv1alpha2.Binding) {
	attach.Detach(b, keyOf(one))
	attach.Options(b, left)
	attach.Pack(b, left)
}

func workloads(n int, clusters ...string) []workv1alpha2.Binding {
	var out []workv1alpha2.Binding
	for i := range n {
		out = append(out, workload(fmt.Sprintf("app-%04d-deployment", i), clusters...))
	}
	return out
}

func keyOf(b workv1alpha2.Binding) types.NamespacedName {
	return types.NamespacedName{Namespace: b.GetNamespace(), Name: b.GetName()}
}

func names(b *workv1alpha2.ResourceBinding) sets.Set[string] {
	return sets.New(bindings.Places(&b.Spec)...)
}

// TestPackInLargeFleet attaches so many workloads that separate lists would exceed the limit of the API server.
func TestPackInLargeFleet(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	all := workloads(200, fleet()...)
	for _, staged := range all[100:150] {
		staged.SetAnnotations(map[string]string{contract.RolloutStrategyAnnotation: "careful"})
	}
	for _, kept := range all[140:] {
		kept.BindingSpec().PreserveResourcesOnDeletion = new(true)
	}
	b := attached(&workv1alpha2.ResourceBinding{}, all...)
	data, err := json.Marshal(b)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(len(data)).To(BeNumerically("<", 512<<10))
	g.Expect(names(b)).To(HaveLen(1000), "an earlier hub finds all clusters")
	for _, w := range all {
		g.Expect(attach.Places(b, keyOf(w))).To(HaveLen(1000), w.GetName())
	}
	once := b.DeepCopy()
	attach.To(b, configMap(), settings(), all[7], "id")
	attach.Options(b, all)
	attach.Pack(b, all)
	g.Expect(b).To(BeComparableTo(once), "repeating it changes nothing")

	// A workload that moves or is deleted removes no cluster of the others.
	all[0] = workload(all[0].GetName(), "other")
	attach.To(b, configMap(), settings(), all[0], "id")
	attach.Options(b, all)
	attach.Pack(b, all)
	g.Expect(names(b)).To(HaveLen(1001))
	g.Expect(attach.Places(b, keyOf(all[0]))).To(Equal(sets.New("other")))
	for len(all) > 1 {
		if len(all)%20 == 0 {
			g.Expect(names(b).HasAll(fleet()...)).To(BeTrue(), "clusters must stay while %d workloads are left", len(all))
		}
		detached(b, all[0], all[1:]...)
		all = all[1:]
	}
	g.Expect(b.Spec.RequiredBy).To(HaveLen(1))
	g.Expect(b.Spec.RequiredBy[0].Clusters).To(HaveLen(1000), "short lists are separate")
	g.Expect(attach.OnlyFor(b, keyOf(all[0]))).To(BeTrue())
}

func TestPackLeavesShortLists(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := attached(&workv1alpha2.ResourceBinding{}, workloads(5, fleet()...)...)
	g.Expect(b.Spec.RequiredBy).To(HaveLen(5))
	for _, s := range b.Spec.RequiredBy {
		g.Expect(s.Clusters).To(HaveLen(1000))
		g.Expect(s.SharedClusters).To(BeEmpty())
	}
}

// TestPackSharesOnlyBetweenEqualWorkloads checks what earlier versions of the hub rely on, which know only entries: each is of one namespace,
// and says whether it is preserved.
func TestPackSharesOnlyBetweenEqualWorkloads(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	all := workloads(12, fleet()...)
	for i, w := range all {
		if i%2 == 1 {
			w.SetNamespace("bank")
		}
		if i%4 > 1 {
			w.BindingSpec().PreserveResourcesOnDeletion = new(true)
		}
	}
	all = append(all, workload("nowhere-deployment"), workload("small-deployment", "b", "a"), workload("tiny-deployment", "b", "a"))
	b := attached(&workv1alpha2.ResourceBinding{}, all...)
	type kind struct {
		namespace string
		preserve  bool
	}
	lists := sets.Set[kind]{}
	for _, s := range b.Spec.RequiredBy {
		if s.Name == "" {
			g.Expect(s.Clusters).To(HaveLen(1000))
			lists.Insert(kind{s.Namespace, *s.Preserve})
		}
	}
	g.Expect(lists).To(Equal(sets.New(kind{"shop", true}, kind{"shop", false}, kind{"bank", false})), "a list of another namespace is not preserved")
	for _, w := range all {
		want := attach.ClustersOf(w.BindingSpec())
		g.Expect(attach.Places(b, keyOf(w))).To(Equal(want), w.GetName())
	}
	g.Expect(b.Spec.RequiredBy).To(ContainElement(And(HaveField("Name", "tiny-deployment"), HaveField("Clusters", HaveLen(2)))), "a short list stays separate")
}

// TestPackKeepsListForStagedWorkload: an earlier version of the hub ignores rollouts if no entry with a name has a cluster.
func TestPackKeepsListForStagedWorkload(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	all := workloads(20, fleet()...)
	for _, w := range all {
		w.SetAnnotations(map[string]string{contract.RolloutStrategyAnnotation: "careful"})
	}
	own := func(b *workv1alpha2.ResourceBinding) (out []string) {
		for _, s := range b.Spec.RequiredBy {
			if s.Name != "" && len(s.Clusters) > 0 {
				out = append(out, s.Name)
			}
		}
		return out
	}
	b := attached(&workv1alpha2.ResourceBinding{}, all...)
	g.Expect(own(b)).To(Equal([]string{"app-0000-deployment"}))
	detached(b, all[0], all[1:]...)
	g.Expect(own(b)).To(Equal([]string{"app-0001-deployment"}), "the next staged workload gets its own list in the same write")
}

// TestPackAfterEarlierHub has an earlier version of the hub active in between, which writes separate lists and drops fields that it does not
// know.
func TestPackAfterEarlierHub(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	all := workloads(20, fleet()...)
	b := attached(&workv1alpha2.ResourceBinding{}, all...)
	var required []workv1alpha2.BindingSnapshot
	for _, s := range b.Spec.RequiredBy {
		switch s.SharedClusters = ""; s.Name {
		case all[0].GetName(): // it was deleted
			continue
		case all[1].GetName(): // it moved
			s.Clusters = []workv1alpha2.TargetCluster{{Name: "other"}}
			all[1] = workload(s.Name, "other")
		}
		required = append(required, s)
	}
	b.Spec.RequiredBy, all = required, all[1:]
	g.Expect(names(b)).To(HaveLen(1001), "the earlier hub removed no cluster")
	g.Expect(attach.Abandoned(b)).To(BeFalse())
	for _, w := range all {
		attach.To(b, configMap(), settings(), w, "id")
		attach.Options(b, all)
		attach.Pack(b, all)
		g.Expect(names(b)).To(HaveLen(1001))
	}
	fresh := attached(&workv1alpha2.ResourceBinding{}, all...)
	g.Expect(b.Spec.RequiredBy).To(BeComparableTo(fresh.Spec.RequiredBy))

	b.Spec.RequiredBy = b.Spec.RequiredBy[:1]
	g.Expect(b.Spec.RequiredBy[0].Name).To(BeEmpty())
	g.Expect(attach.Abandoned(b)).To(BeTrue(), "the common list is left after the last workload")
	g.Expect(attach.OnlyFor(b, types.NamespacedName{Namespace: "shop", Name: "any"})).To(BeTrue())
}

func TestNotes(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	all := workloads(20, fleet()...)
	b := attached(&workv1alpha2.ResourceBinding{}, all[:19]...)
	before := attach.Notes(b)
	g.Expect(before).To(HaveLen(19))
	attached(b, all...)
	after := attach.Notes(b)
	last := keyOf(all[19])
	g.Expect(after[last].Label).To(Equal("id-of-" + last.Name))
	delete(after, last)
	g.Expect(after).To(BeComparableTo(before), "the notes of the others do not change")
	g.Expect(attach.OwnLabels(b)).To(Equal(map[string]string{contract.ResourceBindingPermanentIDLabel: "id"}))
}
