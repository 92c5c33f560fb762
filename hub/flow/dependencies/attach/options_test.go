package attach_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/hub/flow/dependencies/attach"
)

func TestPreserveWhereLeft(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := &workv1alpha2.ResourceBinding{}
	web := types.NamespacedName{Namespace: "shop", Name: "web-deployment"}
	kept := func() workv1alpha2.Binding { return preserved(workload("web-deployment")) }
	b.Namespace = "shop"
	attach.PreserveWhereLeft(b, sets.New("a"), types.NamespacedName{Namespace: "shop", Name: "api-deployment"}, workload("api-deployment"))
	g.Expect(b.Spec.PreservedIn).To(BeNil(), "a workload that is not preserved leaves nothing")
	attach.PreserveWhereLeft(b, sets.New("a"), web, nil)
	g.Expect(b.Spec.PreservedIn).To(BeNil(), "an unknown workload without a record leaves nothing")
	b.Namespace = "vault"
	attach.PreserveWhereLeft(b, sets.New("a"), web, kept())
	g.Expect(b.Spec.PreservedIn).To(BeNil(), "an object of another namespace is not preserved")
	attach.PreserveWhereLeft(preserved(b), sets.New("a"), web, nil)
	g.Expect(b.Spec.PreservedIn).To(BeNil(), "an object of another namespace is not preserved for an unknown workload")
	b.Namespace, b.Spec.PreserveResourcesOnDeletion = "shop", nil
	attach.PreserveWhereLeft(b, sets.New("c", "b"), web, kept())
	attach.PreserveWhereLeft(b, sets.New("a", "b"), web, kept())
	g.Expect(b.Spec.PreservedIn).To(Equal([]string{"a", "b", "c"}))
	once := b.DeepCopy()
	attach.PreserveWhereLeft(b, sets.New("a"), web, kept())
	attach.PreserveWhereLeft(b, sets.Set[string]{}, web, kept())
	g.Expect(b).To(BeComparableTo(once), "repeating it changes nothing")

	b = preserved(&workv1alpha2.ResourceBinding{})
	b.Namespace = "shop"
	attach.PreserveWhereLeft(b, sets.New("a"), web, nil)
	g.Expect(b.Spec.PreservedIn).To(Equal([]string{"a"}), "the record says that the deleted workload is preserved")
	b.Spec.PreservedIn = nil
	b.Spec.RequiredBy = []workv1alpha2.BindingSnapshot{{Namespace: "shop", Name: "api-deployment", Preserve: new(true)}, {Namespace: "shop", Name: web.Name, Preserve: new(false)}}
	attach.PreserveWhereLeft(b, sets.New("a"), web, nil)
	g.Expect(b.Spec.PreservedIn).To(BeNil(), "only another workload is preserved")
}

func TestPreserveAsLast(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := &workv1alpha2.ResourceBinding{}
	attach.PreserveAsLast(b, workload("web-deployment"), nil)
	g.Expect(b.Spec.PreserveResourcesOnDeletion).To(BeNil(), "a missing option counts as false")
	attach.PreserveAsLast(b, preserved(workload("web-deployment")), nil)
	g.Expect(b.Spec.PreserveResourcesOnDeletion).To(HaveValue(BeTrue()))
	attach.PreserveAsLast(b, nil, nil)
	g.Expect(b.Spec.PreserveResourcesOnDeletion).To(HaveValue(BeTrue()))
	attach.PreserveAsLast(b, workload("web-deployment"), nil)
	g.Expect(b.Spec.PreserveResourcesOnDeletion).To(HaveValue(BeFalse()))
	g.Expect(b.Spec.RequiredBy).To(BeNil())

	attach.To(b, configMap(), settings(), workload("web-deployment", "a"), "id")
	attach.Options(b, []workv1alpha2.Binding{workload("web-deployment", "a")})
	g.Expect(bindings.Preserved(&b.Spec, "a")).To(BeFalse())
	once := b.DeepCopy()
	attach.PreserveAsLast(b, workload("web-deployment", "a"), nil)
	g.Expect(b).To(BeComparableTo(once), "repeating it changes nothing")
	attach.PreserveAsLast(b, preserved(workload("web-deployment", "a")), nil)
	g.Expect(bindings.Preserved(&b.Spec, "a")).To(BeTrue(), "the present option of the workload counts")
	b.Spec.RequiredBy[0].Clusters = append(b.Spec.RequiredBy[0].Clusters, workv1alpha2.TargetCluster{Name: "left"})
	attach.PreserveAsLast(b, preserved(workload("web-deployment", "a")), sets.New("a"))
	g.Expect(bindings.Preserved(&b.Spec, "a")).To(BeFalse(), "the object does not stay where the workload runs without it")
	g.Expect(bindings.Preserved(&b.Spec, "left")).To(BeTrue())
	attach.PreserveAsLast(b, preserved(workload("web-deployment", "a")), sets.New("a", "left"))
	g.Expect(bindings.Preserved(&b.Spec, "left")).To(BeFalse())
	g.Expect(attach.Names(b, types.NamespacedName{Namespace: "shop", Name: "web-deployment"})).To(BeTrue(), "the workload stays on the binding, which is found by it")
	b.Namespace = "vault"
	attach.PreserveAsLast(b, preserved(workload("web-deployment", "a")), nil)
	g.Expect(bindings.Preserved(&b.Spec, "a")).To(BeFalse(), "an object of another namespace is not preserved")
}

// TestPreserveGoing writes the option of a policy on a binding that is being deleted before its workload.
func TestPreserveGoing(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := &workv1alpha2.ResourceBinding{}
	web, api := workload("web-deployment", "edge-1"), workload("api-deployment", "edge-1", "edge-2")
	attach.To(b, configMap(), settings(), web, "id")
	attach.To(b, configMap(), settings(), api, "id")
	attach.Options(b, []workv1alpha2.Binding{web, api})
	once := b.DeepCopy()
	attach.PreserveGoing(b, web)
	attach.PreserveGoing(b, preserved(workload("another-deployment", "edge-2")))
	g.Expect(b).To(BeComparableTo(once), "nothing changes if no workload is preserved")
	attach.PreserveGoing(b, preserved(web))
	g.Expect(bindings.Preserved(&b.Spec, "edge-1")).To(BeTrue())
	g.Expect(bindings.Preserved(&b.Spec, "edge-2")).To(BeFalse())
	g.Expect(b.Spec.RequiredBy).To(HaveLen(2))

	b = once.DeepCopy()
	b.Namespace = "vault"
	attach.PreserveGoing(b, preserved(web))
	g.Expect(bindings.Preserved(&b.Spec, "edge-1")).To(BeFalse(), "an object of another namespace is not preserved")

	b = once.DeepCopy()
	b.Spec.Placement = &policyv1alpha1.Placement{}
	attach.PreserveGoing(b, preserved(web))
	g.Expect(b.Spec.PreserveResourcesOnDeletion).To(HaveValue(BeFalse()), "the option of a selected binding belongs to its policy")

	many := make([]string, 4000)
	for i := range many {
		many[i] = fmt.Sprintf("edge-%04d", i)
	}
	b = &workv1alpha2.ResourceBinding{}
	var all []workv1alpha2.Binding
	for i := range 4 {
		all = append(all, workload(fmt.Sprintf("web-%d", i), many...))
		attach.To(b, configMap(), settings(), all[i], "id")
	}
	attach.Options(b, all)
	attach.Pack(b, all)
	attach.PreserveGoing(b, preserved(workload("web-2", many...)))
	g.Expect(bindings.SharesClusters(&b.Spec)).To(BeTrue(), "the lists are still common ones")
	g.Expect(bindings.Preserved(&b.Spec, "edge-3999")).To(BeTrue())
}

func TestDependencyStaysWherePreservedWorkloadsAre(t *testing.T) {
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
	g.Expect(b.Spec.PreserveResourcesOnDeletion).To(HaveValue(BeTrue()), "the binding itself is preserved, for earlier hubs")
	once := b.DeepCopy()
	attach.To(b, configMap(), settings(), other, "id")
	attach.Options(b, []workv1alpha2.Binding{other, kept})
	g.Expect(b).To(BeComparableTo(once), "repeating it changes nothing")

	attach.Options(b, []workv1alpha2.Binding{preserved(other), kept})
	g.Expect(stays()).To(Equal([]string{"edge-1", "edge-2"}))
	other.Spec.PreserveResourcesOnDeletion, kept.Spec.PreserveResourcesOnDeletion = nil, nil
	attach.Options(b, []workv1alpha2.Binding{other, kept})
	g.Expect(stays()).To(BeEmpty())
}

// TestUnknownWorkloadKeepsItsDependencies removes the binding of a preserved workload before the workload is detached.
func TestUnknownWorkloadKeepsItsDependencies(t *testing.T) {
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
	g.Expect(bindings.Preserved(&b.Spec, "edge-1")).To(BeFalse(), "a detached workload does not preserve the object")
}
