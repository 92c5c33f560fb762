package bindings

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
)

// StrategyOf returns the name of a binding's RolloutStrategy; empty if changes go to all of its clusters at once.
func StrategyOf(b metav1.Object) string {
	if name := b.GetAnnotations()[contract.RolloutStrategyAnnotation]; name != contract.RolloutStrategyNone {
		return name
	}
	return ""
}

// IsStaged returns whether a binding has a RolloutStrategy.
func IsStaged(b metav1.Object) bool { return StrategyOf(b) != "" }

// Suspended returns whether a person suspended dispatching to a cluster.
func Suspended(s *workv1alpha2.Suspension, cluster string) bool {
	return s != nil && (ptr.Deref(s.Dispatching, false) ||
		s.DispatchingOnClusters != nil && slices.Contains(s.DispatchingOnClusters.ClusterNames, cluster))
}

// Requires returns whether another binding requires the object of a binding.
func Requires(needed workv1alpha2.Binding, by types.NamespacedName) bool {
	return slices.ContainsFunc(needed.BindingSpec().RequiredBy, func(s workv1alpha2.BindingSnapshot) bool {
		return s.Name == by.Name && s.Namespace == by.Namespace
	})
}
