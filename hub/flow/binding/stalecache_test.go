package binding_test

import (
	"net/http"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter/native"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/flow/binding"
	"fairlead.dev/hub/setup"
	"fairlead.dev/test/stagetest"
)

func TestAHubThatDoesNotSeeWhatTheOneBeforeDidMovesNothingBack(t *testing.T) {
	g := NewWithT(t)
	w, web, _, r := twoWaves(t, start(t))
	r.says(t, 1, nil) // as it was before a was sent r2

	// Its cache has no Works at all: a is to have what is stable, as far as it knows.
	after := &stage{cluster: w.cluster, hub: w.hub}
	cfg := rest.CopyConfig(w.cluster.Config)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return counter{next: next, stage: after} })
	mgr := stagetest.Manager(t, cfg, func(o *manager.Options) {
		o.Cache, o.Client = setup.CacheOptions(), setup.ClientOptions()
		o.Cache.ByObject = nil
		o.Cache.DefaultNamespaces = map[string]cache.Config{w.namespace: {}}
	})
	g.Expect(kube.Index(t.Context(), mgr.GetFieldIndexer())).To(Succeed())
	g.Expect(binding.Register(mgr, binding.Deps{
		ExecutionNamespacePrefix: contract.DefaultExecutionNamespacePrefix,
		Interpreter:              native.New(), Events: after.events.Record, Clock: clock.RealClock{},
	})).To(Succeed())
	stagetest.Run(t, mgr)
	blind := &world{stage: after, namespace: w.namespace}
	tried := 0
	g.Eventually(func() int {
		tried += len(blind.wrote())
		return tried
	}, soon, often).Should(BeNumerically(">", 3), "it tries to make what it does not see")
	g.Consistently(func() map[string]string { return w.has(t, web, "a", "b") }, while, often).Should(Equal(map[string]string{"a": "nginx:2 r2", "b": "nginx:1.27 r1"}))
}
