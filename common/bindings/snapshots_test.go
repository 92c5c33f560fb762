package bindings_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/types"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
)

func TestSnapshotsHaveAllTheirClusters(t *testing.T) {
	t.Parallel()
	clusters := func(names ...string) []workv1alpha2.TargetCluster {
		var out []workv1alpha2.TargetCluster
		for _, name := range names {
			out = append(out, workv1alpha2.TargetCluster{Name: name})
		}
		return out
	}
	ab, c, ad := clusters("a", "b"), clusters("c"), clusters("a", "d")
	web := types.NamespacedName{Namespace: "shop", Name: "web"}
	list := func(namespace string, of []workv1alpha2.TargetCluster) workv1alpha2.BindingSnapshot {
		return workv1alpha2.BindingSnapshot{Namespace: namespace, Clusters: of}
	}
	entry := func(of []workv1alpha2.TargetCluster, shared string) workv1alpha2.BindingSnapshot {
		return workv1alpha2.BindingSnapshot{Namespace: web.Namespace, Name: web.Name, Clusters: of, SharedClusters: shared, Preserve: new(true)}
	}
	tests := map[string]struct {
		entries []workv1alpha2.BindingSnapshot
		want    []workv1alpha2.TargetCluster
	}{
		"nothing is shared":                       {entries: []workv1alpha2.BindingSnapshot{entry(ab, "")}, want: ab},
		"it has its own beside a list":            {entries: []workv1alpha2.BindingSnapshot{list("shop", c), entry(ab, "")}, want: ab},
		"it has one of two lists":                 {entries: []workv1alpha2.BindingSnapshot{list("shop", ab), list("shop", c), entry(nil, bindings.ClustersHash(c))}, want: c},
		"it has the list of another namespace":    {entries: []workv1alpha2.BindingSnapshot{list("bank", c), list("shop", ab), entry(nil, bindings.ClustersHash(c))}, want: c},
		"it is nowhere":                           {entries: []workv1alpha2.BindingSnapshot{list("shop", ab), entry(nil, bindings.ClustersHash(nil))}},
		"it is nowhere, and nothing is shared":    {entries: []workv1alpha2.BindingSnapshot{entry(nil, "")}},
		"an older hub dropped which list it has":  {entries: []workv1alpha2.BindingSnapshot{list("shop", ab), list("shop", ad), list("bank", c), entry(nil, "")}, want: clusters("a", "b", "d")},
		"somebody took the list off that it has":  {entries: []workv1alpha2.BindingSnapshot{list("shop", ab), entry(nil, bindings.ClustersHash(c))}, want: ab},
		"somebody took off all lists, it has one": {entries: []workv1alpha2.BindingSnapshot{entry(nil, bindings.ClustersHash(c))}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			spec := &workv1alpha2.ResourceBindingSpec{RequiredBy: tt.entries}
			before := spec.DeepCopy()
			got := bindings.Snapshots(spec)
			g.Expect(spec).To(BeComparableTo(before), "what was read is not changed")
			g.Expect(got).To(HaveLen(1))
			g.Expect(got[0].Clusters).To(Equal(tt.want))
			g.Expect(got[0].Preserve).To(HaveValue(BeTrue()))
		})
	}
	g := NewWithT(t)
	namespace := &workv1alpha2.ResourceBindingSpec{Resource: workv1alpha2.ObjectReference{APIVersion: "v1", Kind: "Namespace", Name: "shop"}}
	namespace.RequiredBy = []workv1alpha2.BindingSnapshot{list("shop", ab), entry(nil, "")}
	g.Expect(bindings.Snapshots(namespace)).To(Equal(namespace.RequiredBy), "there the entry is all that is in it")
}
