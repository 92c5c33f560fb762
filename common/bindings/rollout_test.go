package bindings_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/types"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
)

func TestTheStrategyOfABinding(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{"": "", contract.RolloutStrategyNone: "", "shops": "shops"} {
		g, b := NewWithT(t), &workv1alpha2.ResourceBinding{}
		b.Annotations = map[string]string{contract.RolloutStrategyAnnotation: said}
		g.Expect(bindings.StrategyOf(b)).To(Equal(want), said)
		g.Expect(bindings.IsStaged(b)).To(Equal(want != ""), said)
	}
	NewWithT(t).Expect(bindings.IsStaged(&workv1alpha2.ResourceBinding{})).To(BeFalse())
}

func TestDispatchingIsSuspendedEverywhereOrInNamedClusters(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(bindings.Suspended(nil, "a")).To(BeFalse())
	g.Expect(bindings.Suspended(&workv1alpha2.Suspension{Scheduling: new(true), Suspension: policyv1alpha1.Suspension{Dispatching: new(false)}}, "a")).To(BeFalse())
	g.Expect(bindings.Suspended(&workv1alpha2.Suspension{Suspension: policyv1alpha1.Suspension{Dispatching: new(true)}}, "a")).To(BeTrue())
	some := &workv1alpha2.Suspension{Suspension: policyv1alpha1.Suspension{DispatchingOnClusters: &policyv1alpha1.SuspendClusters{ClusterNames: []string{"b"}}}}
	g.Expect(bindings.Suspended(some, "a")).To(BeFalse())
	g.Expect(bindings.Suspended(some, "b")).To(BeTrue())
}

func TestABindingIsRequiredByThoseThatItNames(t *testing.T) {
	t.Parallel()
	g, b := NewWithT(t), &workv1alpha2.ResourceBinding{}
	b.Spec.RequiredBy = []workv1alpha2.BindingSnapshot{{Namespace: "shop", Name: "web"}, {Name: "wide"}}
	g.Expect(bindings.Requires(b, types.NamespacedName{Namespace: "shop", Name: "web"})).To(BeTrue())
	g.Expect(bindings.Requires(b, types.NamespacedName{Name: "wide"})).To(BeTrue())
	g.Expect(bindings.Requires(b, types.NamespacedName{Namespace: "other", Name: "web"})).To(BeFalse())
}
