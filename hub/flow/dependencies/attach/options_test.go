package attach_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/hub/flow/dependencies/attach"
)

func TestWhereAWorkloadIsLeftBehindWhatItNeedsStays(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := &workv1alpha2.ResourceBinding{}
	web := types.NamespacedName{Namespace: "shop", Name: "web-deployment"}
	kept := func() workv1alpha2.Binding { return preserved(workload("web-deployment")) }
	b.Namespace = "shop"
	attach.PreserveWhereLeft(b, sets.New("a"), types.NamespacedName{Namespace: "shop", Name: "api-deployment"}, workload("api-deployment"))
	g.Expect(b.Spec.PreservedIn).To(BeNil(), "nothing of it is left behind")
	attach.PreserveWhereLeft(b, sets.New("a"), web, nil)
	g.Expect(b.Spec.PreservedIn).To(BeNil(), "and nothing said that anything is")
	b.Namespace = "vault"
	attach.PreserveWhereLeft(b, sets.New("a"), web, kept())
	g.Expect(b.Spec.PreservedIn).To(BeNil(), "it is somebody else's, who may take back what is granted")
	attach.PreserveWhereLeft(preserved(b), sets.New("a"), web, nil)
	g.Expect(b.Spec.PreservedIn).To(BeNil(), "also if nothing is known of the workload")
	b.Namespace, b.Spec.PreserveResourcesOnDeletion = "shop", nil
	attach.PreserveWhereLeft(b, sets.New("c", "b"), web, kept())
	attach.PreserveWhereLeft(b, sets.New("a", "b"), web, kept())
	g.Expect(b.Spec.PreservedIn).To(Equal([]string{"a", "b", "c"}))
	once := b.DeepCopy()
	attach.PreserveWhereLeft(b, sets.New("a"), web, kept())
	attach.PreserveWhereLeft(b, sets.Set[string]{}, web, kept())
	g.Expect(b).To(BeComparableTo(once), "doing it again changes nothing")

	b = preserved(&workv1alpha2.ResourceBinding{})
	b.Namespace = "shop"
	attach.PreserveWhereLeft(b, sets.New("a"), web, nil)
	g.Expect(b.Spec.PreservedIn).To(Equal([]string{"a"}), "of one that is gone its options are known")
	b.Spec.PreservedIn = nil
	b.Spec.RequiredBy = []workv1alpha2.BindingSnapshot{{Namespace: "shop", Name: "api-deployment", Preserve: new(true)}, {Namespace: "shop", Name: web.Name, Preserve: new(false)}}
	attach.PreserveWhereLeft(b, sets.New("a"), web, nil)
	g.Expect(b.Spec.PreservedIn).To(BeNil(), "another one is preserved, not this one")
}

func TestTheLastWorkloadSaysWhatStays(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := &workv1alpha2.ResourceBinding{}
	attach.PreserveAsLast(b, workload("web-deployment"))
	g.Expect(b.Spec.PreserveResourcesOnDeletion).To(BeNil(), "none and false are the same")
	attach.PreserveAsLast(b, preserved(workload("web-deployment")))
	g.Expect(b.Spec.PreserveResourcesOnDeletion).To(HaveValue(BeTrue()))
	attach.PreserveAsLast(b, nil)
	g.Expect(b.Spec.PreserveResourcesOnDeletion).To(HaveValue(BeTrue()))
	attach.PreserveAsLast(b, workload("web-deployment"))
	g.Expect(b.Spec.PreserveResourcesOnDeletion).To(HaveValue(BeFalse()))
	g.Expect(b.Spec.RequiredBy).To(BeNil())

	attach.To(b, configMap(), settings(), workload("web-deployment", "a"), "id")
	attach.Options(b, []workv1alpha2.Binding{workload("web-deployment", "a")})
	g.Expect(bindings.Preserved(&b.Spec, "a")).To(BeFalse())
	once := b.DeepCopy()
	attach.PreserveAsLast(b, workload("web-deployment", "a"))
	g.Expect(b).To(BeComparableTo(once), "it says so already")
	attach.PreserveAsLast(b, preserved(workload("web-deployment", "a")))
	g.Expect(bindings.Preserved(&b.Spec, "a")).To(BeTrue(), "its policy was edited since")
}

func TestWhatWorkloadsNeedStaysWhereThoseThatArePreservedAre(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := &workv1alpha2.ResourceBinding{}
	kept, other := preserved(workload("kept", "edge-1")), workload("other", "edge-1", "edge-2")
	stays := func() []string {
		var out []string
		for _, cluster := range []string{"edge-1", "edge-2"} {
			if bindings.Preserved(&b.Spec, cluster) {
				out = append(out, cluster)
			}
		}
		return out
	}
	attach.To(b, configMap(), settings(), kept, "id")
	attach.Options(b, []workv1alpha2.Binding{kept})
	g.Expect(stays()).To(Equal([]string{"edge-1"}))
	attach.To(b, configMap(), settings(), other, "id")
	attach.Options(b, []workv1alpha2.Binding{other, kept})
	g.Expect(stays()).To(Equal([]string{"edge-1"}))
	g.Expect(b.Spec.PreserveResourcesOnDeletion).To(HaveValue(BeTrue()), "for a hub that does not know better")
	once := b.DeepCopy()
	attach.To(b, configMap(), settings(), other, "id")
	attach.Options(b, []workv1alpha2.Binding{other, kept})
	g.Expect(b).To(BeComparableTo(once), "doing it again changes nothing")

	attach.Options(b, []workv1alpha2.Binding{preserved(other), kept})
	g.Expect(stays()).To(Equal([]string{"edge-1", "edge-2"}))
	other.Spec.PreserveResourcesOnDeletion, kept.Spec.PreserveResourcesOnDeletion = nil, nil
	attach.Options(b, []workv1alpha2.Binding{other, kept})
	g.Expect(stays()).To(BeEmpty())
}

// TestAWorkloadThatIsNotKnownKeepsWhatItNeeds has the binding of a preserved workload gone before it was taken off what it needed.
func TestAWorkloadThatIsNotKnownKeepsWhatItNeeds(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := &workv1alpha2.ResourceBinding{}
	kept, other := preserved(workload("kept", "edge-1")), workload("other", "edge-1", "edge-2")
	b.Spec.RequiredBy = []workv1alpha2.BindingSnapshot{
		{Namespace: kept.Namespace, Name: kept.Name, Clusters: kept.Spec.Clusters, Preserve: new(true)},
		{Namespace: other.Namespace, Name: other.Name, Clusters: other.Spec.Clusters},
	}
	attach.Options(b, []workv1alpha2.Binding{other})
	g.Expect(bindings.Preserved(&b.Spec, "edge-1")).To(BeTrue())
	g.Expect(bindings.Preserved(&b.Spec, "edge-2")).To(BeFalse())
	b.Spec.RequiredBy = b.Spec.RequiredBy[1:]
	attach.Options(b, []workv1alpha2.Binding{other})
	g.Expect(bindings.Preserved(&b.Spec, "edge-1")).To(BeFalse(), "once it is taken off, Left has noted where it was")
}
