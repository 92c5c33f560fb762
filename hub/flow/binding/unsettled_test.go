package binding

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube/fairqueue"
	"fairlead.dev/test/builder"
)

// TestUnsettledWorksMakeBindingLarge checks that the number of clusters alone does not make a binding large.
func TestUnsettledWorksMakeBindingLarge(t *testing.T) {
	t.Parallel()
	const clusters = 100
	namespace := func(cluster string) string { return contract.ExecutionNamespace("karmada-es-", cluster) }
	req := requestOf("settings")
	for name, c := range map[string]struct {
		change  func(*reconciler, *scope)
		want    int
		isLarge bool
	}{
		"all Works must be created": {change: func(*reconciler, *scope) {}, want: clusters, isLarge: true},
		"most Works are up to date": {want: 2, change: func(_ *reconciler, s *scope) {
			for _, target := range s.targets[2:] {
				s.unchanged.Insert(namespace(target.Name))
			}
		}},
		"one less than the limit": {want: largeFrom - 1, change: func(_ *reconciler, s *scope) { s.targets = s.targets[:largeFrom-1] }},
		"as many as the limit":    {want: largeFrom, isLarge: true, change: func(_ *reconciler, s *scope) { s.targets = s.targets[:largeFrom] }},
		"most targets do not exist": {want: 3, change: func(_ *reconciler, s *scope) {
			for _, target := range s.targets[3:] {
				delete(s.clusters, target.Name)
			}
		}},
		"the template is gone": {want: 0, change: func(_ *reconciler, s *scope) { s.template = nil }},
		"the application leaves nearly all clusters": {want: clusters, isLarge: true, change: func(_ *reconciler, s *scope) {
			for _, target := range s.targets {
				s.live[namespace(target.Name)] = &workv1alpha1.Work{}
			}
			s.targets = s.targets[:1]
		}},
		"a former binding left many Works": {want: clusters + 1, isLarge: true, change: func(r *reconciler, s *scope) {
			for _, target := range s.targets {
				r.strays.add(req.NamespacedName, types.NamespacedName{Namespace: namespace(target.Name), Name: "settings"})
			}
			s.targets = s.targets[:1]
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			asked := false
			r := &reconciler{prefix: "karmada-es-", slot: func(of reconcile.Request) error {
				asked = true
				g.Expect(of).To(Equal(req))
				return fairqueue.ErrWaits
			}}
			s := &scope{
				template: &unstructured.Unstructured{}, unchanged: sets.Set[string]{},
				clusters: map[string]*clusterv1alpha1.Cluster{}, live: map[string]*workv1alpha1.Work{},
			}
			for i := range clusters {
				name := fmt.Sprint("m", i)
				s.targets = append(s.targets, workv1alpha2.TargetCluster{Name: name})
				s.clusters[name] = builder.MakeCluster(name).Obj()
			}
			c.change(r, s)
			g.Expect(r.unsettled(s, req)).To(Equal(c.want))
			err := r.takeSlot(req, c.want)
			g.Expect(asked).To(Equal(c.isLarge))
			if c.isLarge {
				g.Expect(err).To(MatchError(fairqueue.ErrWaits))
			} else {
				g.Expect(err).NotTo(HaveOccurred())
			}
		})
	}
}
