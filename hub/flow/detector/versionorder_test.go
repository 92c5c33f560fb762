package detector

import (
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter/native"
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/common/kube/watchset"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/flow/detector/claim"
	"fairlead.dev/test/cluster"
	"fairlead.dev/test/stagetest"
)

// A binding must get, or keep, the same version in whatever order the stage starts to watch the versions that its policy selects. A hub
// that starts may see the object first in a version that another policy names.
func TestBindingVersionDoesNotDependOnWatchOrder(t *testing.T) {
	g := NewWithT(t)
	api := cluster.Shared(t, cluster.Options{Profile: cluster.Hub})
	s := &stage{client: api.Client(t), namespace: api.Namespace(t), config: api.Config}
	d := s.databases(t)
	p := s.policy("orders", named(d.beta, "Database", "orders"), named(d.v1, "Database", "orders"))
	p.Labels, p.Finalizers = map[string]string{claim.IDLabel(p): "id"}, []string{finalizerOf(p)}
	s.create(t, p, d.orders(d.v1))
	// begin runs a stage that sees the object in v1beta1 before it watches v1, and returns how often the stage requests the object in
	// another version.
	begin := func() (b *workv1alpha2.ResourceBinding, asks int) {
		mgr := stagetest.Manager(t, api.Config)
		g.Expect(addIndexes(t.Context(), mgr.GetFieldIndexer())).To(Succeed())
		r, err := newReconciler(mgr, Deps{
			Exclusions:  selector.NewExclusions(contract.DefaultExecutionNamespacePrefix, nil, selector.SkippedKinds{}),
			Interpreter: native.New(), Informers: watchset.NewMetadataInformers(mgr.GetCache()), Events: func(eventsink.Event) {}, Clock: clock.RealClock{},
		})
		g.Expect(err).NotTo(HaveOccurred())
		queue := &asked{namespace: s.namespace}
		r.queue.requests = queue
		stop := stagetest.Run(t, mgr)
		defer stop()
		g.Expect(mgr.GetCache().WaitForCacheSync(t.Context())).To(BeTrue())
		_, err = r.kinds.ensure(t.Context(), schema.FromAPIVersionAndKind(d.beta, "Database"))
		g.Expect(err).NotTo(HaveOccurred())
		for _, version := range []string{d.beta, d.v1, d.beta, d.v1} {
			req := request{Kind: schema.FromAPIVersionAndKind(version, "Database"), Namespace: s.namespace, Name: "orders"}
			g.Eventually(func(g Gomega) {
				result, err := r.Reconcile(t.Context(), req)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(result.RequeueAfter).To(BeZero(), "the kind is listed")
			}, "1m", "20ms").Should(Succeed())
		}
		return s.eventually(t, ordersBinding, claimedBy("orders")), queue.later
	}
	made, asks := begin()
	readAs(d.v1)(g, made)
	g.Expect(asks).To(Equal(1), "the other version is not requested again once the binding exists")
	again, asks := begin()
	readAs(d.v1)(g, again)
	g.Expect(again.ResourceVersion).To(Equal(made.ResourceVersion))
	g.Expect(asks).To(BeZero())
}
