package join

import (
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"fairlead.dev/agent/registration"
	"fairlead.dev/agent/registration/discovery"
	"fairlead.dev/common/bootstrap"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/hub/fleet/cluster"
	hubregistration "fairlead.dev/hub/fleet/registration"
	"fairlead.dev/hub/machinery/apiserver"
	"fairlead.dev/hub/people/operate"
	testcluster "fairlead.dev/test/cluster"
	"fairlead.dev/test/stagetest"
)

// hub is a hub with the stages that a join needs.
type hub struct {
	client.Client
	t       *testing.T
	g       *WithT
	config  *rest.Config
	address string
	hashes  []string
}

// newHub returns the hub that all tests share; the stages run until the test ends.
func newHub(t *testing.T) *hub {
	t.Helper()
	shared := testcluster.Shared(t, testcluster.Options{Profile: testcluster.Hub})
	h := &hub{Client: shared.Client(t), t: t, g: NewWithT(t), config: shared.Config}
	h.address = strings.TrimPrefix(h.config.Host, "https://")
	ca := h.config.CAData
	if len(ca) == 0 {
		var err error
		ca, err = os.ReadFile(h.config.CAFile)
		h.g.Expect(err).NotTo(HaveOccurred())
	}
	var err error
	h.hashes, err = bootstrap.CAHash(ca)
	h.g.Expect(err).NotTo(HaveOccurred())
	installed.Do(func() {
		h.g.Expect(apiserver.Install(t.Context(), h.config, apiserver.Options{
			ClusterInfo: &apiserver.ClusterInfo{Servers: []string{h.config.Host}, CA: ca},
		})).To(Succeed())
	})
	return h
}

// installed makes the first test install the hub's prerequisites for all.
var installed sync.Once

// serve runs the stages until the test ends or the returned function is called.
func (h *hub) serve() func() {
	h.t.Helper()
	mgr, err := ctrl.NewManager(h.config, manager.Options{
		Scheme: h.Scheme(), Metrics: metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)}, // every test has a hub

		GracefulShutdownTimeout: new(stagetest.ShutdownTimeout),
	})
	h.g.Expect(err).NotTo(HaveOccurred())
	h.g.Expect(kube.Index(h.t.Context(), mgr.GetCache())).To(Succeed())
	nobody := func(eventsink.Event) {}
	h.g.Expect(cluster.Register(mgr, cluster.Deps{
		ExecutionNamespacePrefix: contract.DefaultExecutionNamespacePrefix, Events: nobody, Clock: clock.RealClock{},
	})).To(Succeed())
	h.g.Expect(hubregistration.Register(h.t.Context(), mgr, hubregistration.Deps{
		ExecutionNamespacePrefix: contract.DefaultExecutionNamespacePrefix, Events: nobody, Clock: clock.RealClock{},
	})).To(Succeed())
	ctx, cancel := context.WithCancel(h.t.Context())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			h.t.Error(err)
		}
	})
	h.t.Cleanup(stop)
	return stop
}

// token creates a token and returns it when agents can use it.
func (h *hub) token(ctx context.Context, name string, valid time.Duration) string {
	token, err := bootstrap.New(rand.Reader, name, time.Now().Add(valid))
	h.g.Expect(err).NotTo(HaveOccurred())
	h.g.Expect(operate.Issue(ctx, h.Client, token)).To(Succeed())
	return token.String()
}

// options returns the options of a successful join, except for the token. The hub's own API serves as the member.
func (h *hub) options(name, token string) registration.Options {
	return registration.Options{
		Flags:    discovery.Flags{Hub: h.address, Token: token, CACertHashes: h.hashes, Cluster: name},
		StateDir: filepath.Join(h.t.TempDir(), "state"),
		Member:   testcluster.Shared(h.t, testcluster.Options{Profile: testcluster.Hub}).Config,
		Deadline: registration.DefaultDeadline,
		Progress: func(s string) { h.t.Log(s) },
	}
}
