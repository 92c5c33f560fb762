package setup

import (
	"testing"
	"unsafe"

	. "github.com/onsi/gomega"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/test/filled"
)

// TestEqualPartsOfObjectsAreInMemoryOnce looks into a cache with what was decoded one by one.
func TestEqualPartsOfObjectsAreInMemoryOnce(t *testing.T) {
	t.Parallel()
	g, fleet := NewWithT(t), filled.Fleet{Clusters: 3, Bindings: 4, Policies: 2}
	hub := filled.New(t, CacheOptions(nil), fleet.Objects()...)
	bindings := make([]*workv1alpha2.ResourceBinding, 4)
	for i := range bindings {
		want := fleet.Binding(i)
		bindings[i] = &workv1alpha2.ResourceBinding{}
		g.Expect(hub.Client.Get(t.Context(), client.ObjectKeyFromObject(want), bindings[i], client.UnsafeDisableDeepCopy)).To(Succeed())
		g.Expect(bindings[i].Spec).To(BeComparableTo(want.Spec), "what is said stays the same")
		g.Expect(bindings[i].Status).To(BeComparableTo(want.Status))
		g.Expect(bindings[i].Labels).To(Equal(want.Labels))
		g.Expect(bindings[i].Annotations).To(Equal(want.Annotations))
	}
	g.Expect(bindings[0].Spec.Placement).To(BeIdenticalTo(bindings[1].Spec.Placement))
	text := func(i int, annotation string) *byte { return unsafe.StringData(bindings[i].Annotations[annotation]) }
	g.Expect(text(0, contract.AppliedPlacementAnnotation)).To(BeIdenticalTo(text(1, contract.AppliedPlacementAnnotation)))
	g.Expect(text(0, contract.ClusterPropagationPolicyNameAnnotation)).NotTo(BeIdenticalTo(text(1, contract.ClusterPropagationPolicyNameAnnotation)), "they are of two policies")

	served := make([]*clusterv1alpha1.Cluster, 2)
	for i := range served {
		served[i] = &clusterv1alpha1.Cluster{}
		g.Expect(hub.Client.Get(t.Context(), client.ObjectKey{Name: filled.ClusterName(i)}, served[i], client.UnsafeDisableDeepCopy)).To(Succeed())
		g.Expect(served[i].Status.APIEnablements).To(Equal(fleet.Cluster(i).Status.APIEnablements))
	}
	g.Expect(&served[0].Status.APIEnablements[0]).To(BeIdenticalTo(&served[1].Status.APIEnablements[0]))
}

// TestAllThatIsSharedIsBounded shares more values than the sharer keeps.
func TestAllThatIsSharedIsBounded(t *testing.T) {
	t.Parallel()
	g, s := NewWithT(t), &shared[int]{}
	for i := range 3 * mostShared {
		g.Expect(s.one(i)).To(Equal(i))
	}
	g.Expect(len(s.has)).To(BeNumerically("<=", mostShared))
}
