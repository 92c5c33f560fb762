package staging

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/revision"
)

// Leaders names the bindings whose workloads need the object of a binding, and whose rollouts, where they have one, say which content
// of it clusters get (see revision.Leads). What has a rollout of its own has no other.
func Leaders(b workv1alpha2.Binding) []types.NamespacedName {
	if bindings.IsStaged(b) {
		return nil
	}
	return slices.DeleteFunc(bindings.Requirers(b), func(by types.NamespacedName) bool { return !revision.Leads(by.Namespace, b.GetNamespace()) })
}
