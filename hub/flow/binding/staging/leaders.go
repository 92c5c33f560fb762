package staging

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/revision"
)

// Leaders returns the bindings of workloads that need a binding's object. Their rollouts, if they have any, determine the content that
// clusters get (see revision.Leads). An object with its own rollout has no leaders.
func Leaders(b workv1alpha2.Binding) []types.NamespacedName {
	if bindings.IsStaged(b) {
		return nil
	}
	return slices.DeleteFunc(bindings.Requirers(b), func(by types.NamespacedName) bool { return !revision.Leads(by.Namespace, b.GetNamespace()) })
}
