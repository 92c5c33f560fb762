package binding_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter/native"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/flow/binding"
	"fairlead.dev/hub/setup"
	"fairlead.dev/test/stagetest"
)

// behind runs another hub with a stale cache. It returns the hub's writes, and counts its live reads of the binding.
func (w *world) behind(t *testing.T, b client.Object, shows func(*cache.Options)) (*world, *atomic.Int64) {
	t.Helper()
	g := NewWithT(t)
	after, read := &stage{cluster: w.cluster, hub: w.hub}, &atomic.Int64{}
	path := "/namespaces/" + b.GetNamespace() + "/resourcebindings/" + b.GetName()
	cfg := stagetest.Intercept(stagetest.Intercept(w.cluster.Config, after.note), func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, path) {
			read.Add(1)
		}
		return nil, nil
	})
	mgr := stagetest.Manager(t, cfg, func(o *manager.Options) {
		o.Cache, o.Client = setup.CacheOptions(nil), setup.ClientOptions()
		shows(&o.Cache)
	})
	g.Expect(kube.Index(t.Context(), mgr.GetCache())).To(Succeed())
	g.Expect(binding.Register(mgr, binding.Deps{
		ExecutionNamespacePrefix: contract.DefaultExecutionNamespacePrefix,
		Interpreter:              native.New(), Events: after.events.Record, Clock: clock.RealClock{},
	})).To(Succeed())
	stagetest.Run(t, mgr)
	return &world{stage: after, namespace: w.namespace}, read
}

func TestStaleRolloutMovesNothingBack(t *testing.T) {
	g := NewWithT(t)
	w, web, b, r := twoWaves(t, start(t))
	r.says(t, 1, nil) // as before r2 was sent to a

	// The cache has no Works at all: from its view, a should have the stable revision.
	blind, _ := w.behind(t, b, func(o *cache.Options) {
		o.ByObject = nil
		o.DefaultNamespaces = map[string]cache.Config{w.namespace: {}}
	})
	tried := 0
	g.Eventually(func() int {
		tried += len(blind.wrote())
		return tried
	}, stagetest.Timeout, stagetest.Poll).Should(BeNumerically(">", 3), "the hub tries to create the Works that it does not see")
	g.Consistently(func() map[string]string { return w.has(t, web, "a", "b") }, stagetest.Quiet, stagetest.Poll).Should(Equal(map[string]string{"a": "nginx:2 r2", "b": "nginx:1.27 r1"}))
}

func TestStaleStrategySendsNothing(t *testing.T) {
	g := NewWithT(t)
	w, web, b, _ := twoWaves(t, start(t))
	blind, read := w.behind(t, b, func(o *cache.Options) {
		own := map[string]cache.Config{w.namespace: {}}
		o.ByObject = map[client.Object]cache.ByObject{
			&workv1alpha1.Work{}: {},
			&workv1alpha2.ResourceBinding{}: {Namespaces: own, Transform: func(obj any) (any, error) {
				if b, ok := obj.(*workv1alpha2.ResourceBinding); ok {
					delete(b.Annotations, contract.RolloutStrategyAnnotation)
				}
				return obj, nil
			}},
		}
	})
	g.Eventually(read.Load, stagetest.Timeout, stagetest.Poll).Should(BeNumerically(">", 1), "the hub reads the binding live because its Works have a revision")
	g.Consistently(func() map[string]string { return w.has(t, web, "a", "b") }, stagetest.Quiet, stagetest.Poll).Should(Equal(map[string]string{"a": "nginx:2 r2", "b": "nginx:1.27 r1"}))
	g.Expect(blind.wrote()).To(BeEmpty())
}
