package attach

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
)

// Note is what a binding records about one workload that needs it.
type Note struct {
	Snapshot workv1alpha2.BindingSnapshot
	// Label is the value of the workload's label.
	Label string
}

// Equal returns whether two notes are the same. A binding may have hundreds of them, each with thousands of clusters.
func (n Note) Equal(other Note) bool {
	a, b := &n.Snapshot, &other.Snapshot
	return n.Label == other.Label && a.Name == b.Name && a.Namespace == b.Namespace && ptr.Equal(a.Preserve, b.Preserve) &&
		slices.EqualFunc(a.Clusters, b.Clusters, func(a, b workv1alpha2.TargetCluster) bool {
			return a.Name == b.Name && a.Replicas == b.Replicas && slices.Equal(a.Components, b.Components)
		})
}

// Notes returns what a binding records about each workload that needs it. The result must not be modified.
func Notes(b workv1alpha2.Binding) map[types.NamespacedName]Note {
	out := map[types.NamespacedName]Note{}
	for _, s := range bindings.Snapshots(b.BindingSpec()) {
		if s.Name != "" {
			out[types.NamespacedName{Namespace: s.Namespace, Name: s.Name}] = Note{Snapshot: s, Label: b.GetLabels()[Label(s.Namespace, s.Name)]}
		}
	}
	return out
}

// OwnLabels returns the labels of a binding, without those of workloads that need it.
func OwnLabels(b workv1alpha2.Binding) map[string]string {
	out := maps.Clone(b.GetLabels())
	maps.DeleteFunc(out, func(key, _ string) bool { return strings.HasPrefix(key, contract.DependedByLabelPrefix) })
	return out
}
