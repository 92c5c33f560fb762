package view

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"

	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/watchset"
)

// TestWhichRolloutsAreShownForADependency checks that the view follows the same rollouts as the binding stage: a
// dependency that is cluster-scoped, or in another namespace, is sent at once whatever the rollout of one namespace
// says.
func TestWhichRolloutsAreShownForADependency(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	scheme, err := kube.NewScheme()
	g.Expect(err).NotTo(HaveOccurred())
	staged := map[string]string{contract.RolloutStrategyAnnotation: "waves"}
	web := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Annotations: staged}}
	plain := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "plain"}}
	operator := &workv1alpha2.ClusterResourceBinding{ObjectMeta: metav1.ObjectMeta{Name: "operator", Annotations: staged}}
	c := testingclock.NewFakePassiveClock(time.Unix(1, 0))
	hub := fake.NewClientBuilder().WithScheme(scheme).WithObjects(web, plain, operator).Build()
	r, err := New(hub, meta.NewDefaultRESTMapper(nil), watchset.NewServedKinds(nil, c), c)
	g.Expect(err).NotTo(HaveOccurred())

	for name, tc := range map[string]struct {
		needed kube.Binding
		by     []types.NamespacedName
		want   []string
	}{
		"in the namespace of the rollout":               {kube.ResourceBindings().New(), []types.NamespacedName{{Namespace: "shop", Name: "web"}}, []string{"shop/web"}},
		"cluster-scoped":                                {kube.ClusterResourceBindings().New(), []types.NamespacedName{{Namespace: "shop", Name: "web"}}, nil},
		"cluster-scoped, of a cluster-scoped one":       {kube.ClusterResourceBindings().New(), []types.NamespacedName{{Name: "operator"}}, []string{"/operator"}},
		"of a workload that is gone":                    {kube.ResourceBindings().New(), []types.NamespacedName{{Namespace: "shop", Name: "gone"}}, []string{"shop/gone"}},
		"of a workload without a rollout":               {kube.ResourceBindings().New(), []types.NamespacedName{{Namespace: "shop", Name: "plain"}}, nil},
		"what is needed by all that is in a namespace":  {kube.ClusterResourceBindings().New(), []types.NamespacedName{{Namespace: "shop"}}, nil},
		"in another namespace than one of its rollouts": {kube.ResourceBindings().New(), []types.NamespacedName{{Namespace: "bank", Name: "web"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			tc.needed.SetName("needed")
			if _, ok := tc.needed.(*workv1alpha2.ResourceBinding); ok {
				tc.needed.SetNamespace("shop")
			}
			for _, by := range tc.by {
				spec := tc.needed.BindingSpec()
				spec.RequiredBy = append(spec.RequiredBy, workv1alpha2.BindingSnapshot{Namespace: by.Namespace, Name: by.Name})
			}
			followed, err := r.follows(t.Context(), tc.needed)
			g.Expect(err).NotTo(HaveOccurred())
			var names []string
			for _, f := range followed {
				names = append(names, f.name)
			}
			g.Expect(names).To(Equal(tc.want))
		})
	}
}
