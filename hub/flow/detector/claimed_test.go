package detector

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/watchset"
	"fairlead.dev/hub/flow/detector/claim"
	"fairlead.dev/test/filled"
)

// TestClaimIndexMatchesTemplates adds claims, moves them to other policies, removes them, and deletes templates, in random
// order. After each step the index must find for each policy the same templates as a scan of all.
func TestClaimIndexMatchesTemplates(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	random := rand.New(rand.NewPCG(17, 4))
	policies := []claim.Claim{
		{Namespace: "shop", Name: "a", ID: "1"},
		{Namespace: "shop", Name: "b", ID: "2"},
		{Namespace: "other", Name: "a", ID: "3"},
		{Name: "a", ID: "4"},
		{Name: "shop", ID: "5"},
	}
	store := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{claimIndex: claimOf})
	for range 3000 {
		template := kube.MetadataOf(deployments())
		template.Namespace, template.Name = "shop", fmt.Sprint(random.IntN(12))
		switch random.IntN(4) {
		case 0:
			g.Expect(store.Delete(template)).To(Succeed())
		case 1: // no claim, or an incomplete one
			if random.IntN(2) == 0 {
				claim.Set(template, policies[random.IntN(len(policies))])
				template.Labels = nil
			}
			g.Expect(store.Update(template)).To(Succeed())
		default:
			claim.Set(template, policies[random.IntN(len(policies))])
			if random.IntN(3) == 0 {
				template.DeletionTimestamp = &metav1.Time{} // it is being deleted, and still claimed
			}
			g.Expect(store.Update(template)).To(Succeed())
		}
		scanned := map[string][]any{}
		for _, obj := range store.List() {
			one, ok := obj.(*metav1.PartialObjectMetadata)
			g.Expect(ok).To(BeTrue())
			if has, ok := claim.On(one); ok {
				scanned[has.Key()] = append(scanned[has.Key()], obj)
			}
		}
		for _, p := range policies {
			found, err := store.ByIndex(claimIndex, p.Key())
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(found).To(ConsistOf(scanned[p.Key()]...))
		}
		g.Expect(store.ListIndexFuncValues(claimIndex)).To(HaveLen(len(scanned)), "the index has no policy without templates")
	}
}

// TestClaimIndexIsCompleteWhenWatchStarts checks that the index is complete when the watch of a kind starts whose objects
// are already cached for another stage, and when it ends and starts again.
func TestClaimIndexIsCompleteWhenWatchStarts(t *testing.T) {
	g := NewWithT(t)
	size := filled.Fleet{Clusters: 1, Bindings: 60, Policies: 7}
	r, asked := full(t, size)
	other := watchset.New(watchset.Deps{
		Informers: r.kinds.Informers, Cache: r.kinds.Cache, Live: r.kinds.Live, Mapper: r.kinds.Mapper, Served: r.kinds.Served,
		Clock: clock.RealClock{},
		Handler: func(schema.GroupVersionKind) toolscache.ResourceEventHandler {
			return toolscache.ResourceEventHandlerFuncs{}
		},
	})
	_, err := other.Ensure(t.Context(), deployments())
	g.Expect(err).NotTo(HaveOccurred())
	for range 2 {
		total := 0
		for i := range size.Policies {
			policy := claim.Claim{Name: size.PolicyOf(i)}
			var scanned, found []string
			g.Expect(r.kinds.each(deployments(), "", func(one *metav1.PartialObjectMetadata) {
				if has, ok := claim.On(one); ok && has.Key() == policy.Key() {
					scanned = append(scanned, one.Name)
				}
			})).To(Succeed())
			g.Expect(r.kinds.eachOf(deployments(), policy, func(one *metav1.PartialObjectMetadata) { found = append(found, one.Name) })).To(Succeed())
			g.Expect(found).To(ConsistOf(scanned))
			before := asked.n
			n, err := r.askForClaimed(t.Context(), policy)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(n).To(Equal(len(scanned)), "a template and its binding count once")
			g.Expect(asked.n - before).To(Equal(n))
			total += n
		}
		g.Expect(total).To(Equal(size.Bindings))
		g.Expect(r.askForClaimed(t.Context(), claim.Claim{Namespace: size.NamespaceOf(0), Name: size.PolicyOf(0)})).To(BeZero(), "a namespaced policy is not the cluster policy of the same name")
		g.Expect(r.kinds.anyClaimed(deployments())).To(BeTrue())
		g.Expect(r.kinds.Stop(t.Context(), deployments())).To(BeTrue())
		g.Expect(r.kinds.anyClaimed(deployments())).To(BeFalse(), "a kind that is not watched counts as unclaimed")
		_, err := r.kinds.ensure(t.Context(), deployments())
		g.Expect(err).NotTo(HaveOccurred(), "the informer that another stage keeps must accept the index")
	}
}

// TestClaimLookupDoesNotScanAllTemplates checks that the lookup takes memory only for the few templates of the policy. The pointers
// to all templates alone would take twice the limit.
func TestClaimLookupDoesNotScanAllTemplates(t *testing.T) {
	g := NewWithT(t)
	size := filled.Fleet{Clusters: 1, Bindings: 5000, Policies: 1000}
	r, _ := full(t, size)
	const runs, most = 20, 5000 * 16 / 2
	taken := func(do func()) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range runs {
			do()
		}
		runtime.ReadMemStats(&after)
		return (after.TotalAlloc - before.TotalAlloc) / runs
	}
	g.Expect(taken(func() {
		n, err := r.askForClaimed(t.Context(), claim.Claim{Name: size.PolicyOf(0)})
		g.Expect(n, err).To(Equal(size.Bindings / size.Policies))
	})).To(BeNumerically("<", most))
	byName := &policyv1alpha1.ClusterPropagationPolicy{}
	byName.Spec.ResourceSelectors = []policyv1alpha1.ResourceSelector{{APIVersion: "apps/v1", Kind: "Deployment", Name: size.Template(7).Name}}
	g.Expect(taken(func() { g.Expect(r.askForSelected(byName)).To(Succeed()) })).To(BeNumerically("<", most))
}
