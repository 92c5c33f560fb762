package hostile

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/registration"
	"fairlead.dev/agent/registration/discovery"
	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/bootstrap"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/machinery/apiserver"
	"fairlead.dev/hub/people/operate"
	"fairlead.dev/hub/setup"
	"fairlead.dev/test/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }

// waitTimeout allows for a machine that does other work too.
const (
	waitTimeout = time.Minute
	poll        = 100 * time.Millisecond
)

func eventually(t *testing.T, check func(g Gomega)) {
	t.Helper()
	NewWithT(t).Eventually(check).WithTimeout(waitTimeout).WithPolling(poll).Should(Succeed())
}

// world is a hub with all its stages, and the clusters edge-1 and edge-2.
type world struct {
	client.Client
	api *cluster.Cluster
	// agents are the credentials of both agents.
	agents map[string]*rest.Config
}

func (w *world) agent(t *testing.T, name string) *rest.Config {
	t.Helper()
	return rest.CopyConfig(w.agents[name])
}

var shared struct {
	sync.Mutex
	world *world
}

// hub returns the hub that all tests share.
func hub(t *testing.T) *world {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.world != nil {
		return shared.world
	}
	g := NewWithT(t)
	api := cluster.Shared(t, cluster.Options{})
	w := &world{Client: api.Client(t), api: api, agents: map[string]*rest.Config{}}
	ctx := context.WithoutCancel(t.Context()) // it outlives the first test
	g.Expect(apiserver.Install(ctx, api.Config, apiserver.Options{
		ClusterInfo: &apiserver.ClusterInfo{Servers: []string{api.Config.Host}, CA: api.Config.CAData},
	})).To(Succeed())
	stages, err := setup.New(ctx, api.Config, setup.Options{
		Clock: clock.RealClock{}, ExecutionNamespacePrefix: contract.DefaultExecutionNamespacePrefix, Registry: prometheus.NewRegistry(),
	})
	g.Expect(err).NotTo(HaveOccurred())
	go func() {
		if err := stages.Start(ctx); err != nil {
			fmt.Fprintln(os.Stderr, "the hub stopped by itself:", err)
		}
	}()
	for _, name := range []string{"edge-1", "edge-2"} {
		w.agents[name] = w.join(t, name, "member-of-"+name)
	}
	shared.world = w
	return w
}

// token creates a join token as operators do.
func (w *world) token(t *testing.T, name string, change func(*bootstrap.Token)) bootstrap.Token {
	t.Helper()
	g := NewWithT(t)
	token, err := bootstrap.New(rand.Reader, name, time.Now().Add(time.Hour))
	g.Expect(err).NotTo(HaveOccurred())
	if change != nil {
		change(&token)
	}
	g.Expect(operate.Issue(t.Context(), w.Client, token)).To(Succeed())
	return token
}

// join joins a member, and returns its agent's credentials.
func (w *world) join(t *testing.T, name, member string) *rest.Config {
	t.Helper()
	config, err := w.tryJoin(t, w.token(t, name, nil), name, member, waitTimeout)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	agent := newIntruder(t, config)
	eventually(t, func(g Gomega) { g.Expect(agent.do(t, http.MethodGet, worksOf(name), "", nil)).To(Equal(http.StatusOK)) })
	return config
}

// tryJoin tries to join a member with a token.
func (w *world) tryJoin(t *testing.T, token bootstrap.Token, name, member string, deadline time.Duration) (*rest.Config, error) {
	t.Helper()
	api := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(out, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"kube-system","uid":%q}}`, member)
	}))
	defer api.Close()
	pins, err := bootstrap.CAHash(w.api.Config.CAData)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return registration.Join(t.Context(), registration.Options{
		Flags:    discovery.Flags{Hub: w.api.Config.Host, Token: token.String(), CACertHashes: pins, Cluster: name},
		StateDir: filepath.Join(t.TempDir(), "state"), Member: &rest.Config{Host: api.URL}, Deadline: deadline,
	})
}

// cluster returns the Cluster of a member.
func (w *world) cluster(t *testing.T, name string) *clusterv1alpha1.Cluster {
	t.Helper()
	out := &clusterv1alpha1.Cluster{}
	NewWithT(t).Expect(w.Get(t.Context(), client.ObjectKey{Name: name}, out)).To(Succeed())
	return out
}

func worksOf(name string) string {
	return "/apis/work.karmada.io/v1alpha1/namespaces/karmada-es-" + name + "/works"
}
