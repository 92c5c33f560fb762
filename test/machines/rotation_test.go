package machines

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/registration"
	"fairlead.dev/agent/setup"
	"fairlead.dev/common/interpreter/lua/vm"
	"fairlead.dev/common/interpreter/store"
	"fairlead.dev/test/fleet"
	"fairlead.dev/test/stagetest"
)

// wholeExchange is set to complete the rotation of the authority, which takes four more starts of a hub: `make
// test-machines`.
const wholeExchange = "FAIRLEAD_MACHINES_EXCHANGE"

// keysAndAuthorityAreExchanged follows manifests/install/machines.md for hubs on several machines.
func (w *world) keysAndAuthorityAreExchanged() {
	g, ctx := NewWithT(w.t), w.t.Context()
	hub, err := w.Client(fleet.HubName)
	g.Expect(err).NotTo(HaveOccurred())
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "kept"}, StringData: map[string]string{"password": "swordfish"}}
	insist(w.t, func() error { return hub.Create(ctx, secret.DeepCopy()) })
	whole := os.Getenv(wholeExchange) != ""
	if whole {
		w.agentStays()
	}

	// A hub that exited without deregistering, as when etcd had no majority, counts as running for half a minute.
	w.eventually(func(g Gomega) { g.Expect(w.etcd.below(ctx, g, "/registry/fairlead-hub/running/")).To(HaveLen(2)) })
	// A key that the other machine lacks is refused exactly as long as that one runs.
	old := w.keyOf(secret)
	w.stops(second)
	w.hub(second, "encryption", "rotate")
	w.refused("does not know what this one goes by")
	w.stops(fleet.HubName)
	w.nobodyRuns()
	file := w.t.TempDir() + "/authority"
	w.hub(second, "ca", "export", file)
	w.hub(fleet.HubName, "ca", "import", "--replace", file)

	// Each step of the rotation is copied to the other machine, here the first one together with the key.
	w.hub(fleet.HubName, "ca", "begin")
	w.share("--replace")
	if !whole {
		w.areNamed()
	}
	w.theFrontProxyAuthorityIsExchanged()
	g.Expect(w.keyOf(secret)).NotTo(Equal(old))
	for _, name := range []string{fleet.HubName, second} {
		w.eventually(func(g Gomega) {
			g.Expect(w.hub(name, "encryption", "status")).To(ContainSubstring("no copy of before is left"))
			c, err := w.Client(name)
			g.Expect(err).NotTo(HaveOccurred())
			live := &corev1.Secret{}
			g.Expect(c.Get(ctx, client.ObjectKeyFromObject(secret), live)).To(Succeed())
			g.Expect(live.Data).To(HaveKeyWithValue("password", []byte("swordfish")))
		})
	}
	for _, step := range []string{"switch", "finish"} {
		if !whole {
			continue
		}
		w.eventually(func(g Gomega) {
			_, err := w.Run(ctx, "hub", "ca", step, "--data-dir", w.dataDir(fleet.HubName), "--kubeconfig", w.Kubeconfig(fleet.HubName))
			g.Expect(err).NotTo(HaveOccurred())
		})
		w.stops(second)
		w.share("--replace")
		w.stops(fleet.HubName)
		w.nobodyRuns()
		if step == "finish" {
			w.areNamed()
		}
		w.startsBoth()
	}
	w.send(fleet.HubName)
	w.send(second)
}

// nobodyRuns waits until no hub is registered as running in etcd: a hub that could not exit in time on a busy machine,
// or deregister, counts for half a minute more, and a hub started meanwhile with another key is refused.
func (w *world) nobodyRuns() {
	w.t.Helper()
	w.eventually(func(g Gomega) {
		g.Expect(w.etcd.below(w.t.Context(), g, "/registry/fairlead-hub/running/")).To(BeEmpty())
	})
}

// startsBoth starts both hubs at once.
func (w *world) startsBoth() {
	w.t.Helper()
	w.startSecond()
	w.restarts()
}

// agentStays runs the agent in this process from here on, unmodified except that the random delay of renewals, up to an
// hour, is zero.
func (w *world) agentStays() {
	w.t.Helper()
	g := NewWithT(w.t)
	w.stops(fleet.AgentName("edge-1"))
	credentials, err := registration.OpenCredentials(registration.KeepOptions{
		StateDir: w.StateDir("edge-1"), Clock: clock.RealClock{}, Random: func() float64 { return 0 },
	})
	g.Expect(err).NotTo(HaveOccurred())
	kinds, err := store.BuiltIn(vm.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	config, err := w.Config("edge-1")
	g.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(context.Background())
	kept, ran := make(chan error, 1), make(chan error, 1)
	go func() { kept <- credentials.Keep(ctx) }()
	go func() {
		ran <- setup.Run(ctx, setup.Options{
			Hub: credentials.Config(), Member: config, Cluster: "edge-1", Interpreter: kinds, Clock: clock.RealClock{}, Version: "test",
			Trust:              credentials.Trust,
			StatusFrequency:    setup.DefaultStatusFrequency,
			LeaseDuration:      setup.DefaultLeaseDuration,
			LeaseRenewFraction: setup.DefaultLeaseRenewFraction,
			ShutdownTimeout:    stagetest.ShutdownTimeout,
		})
	}()
	w.agentEnds = sync.OnceFunc(func() {
		cancel()
		for _, done := range []chan error{ran, kept} {
			if err := <-done; err != nil {
				w.t.Error(err)
			}
		}
	})
	w.t.Cleanup(w.agentEnds)
}

// keyOf returns the name of the key that encrypts an object in etcd.
func (w *world) keyOf(secret *corev1.Secret) string {
	w.t.Helper()
	var value []byte
	w.eventually(func(g Gomega) {
		answer := w.etcd.get(w.t.Context(), g, "/registry/secrets/"+secret.Namespace+"/"+secret.Name)
		g.Expect(answer).NotTo(BeEmpty())
		value = answer
	})
	NewWithT(w.t).Expect(string(value)).NotTo(ContainSubstring("swordfish"))
	return regexp.MustCompile(`^k8s:enc:secretbox:v1:[^:]+:`).FindString(string(value))
}

// get reads a value.
func (e *etcd) get(ctx context.Context, g Gomega, key string) []byte {
	values := e.values(ctx, g, map[string][]byte{"key": []byte(key)})
	g.Expect(values).To(HaveLen(1))
	return values[0]
}

// below reads all values below a prefix that ends with a slash.
func (e *etcd) below(ctx context.Context, g Gomega, prefix string) [][]byte {
	return e.values(ctx, g, map[string][]byte{"key": []byte(prefix), "range_end": []byte(strings.TrimSuffix(prefix, "/") + "0")})
}

// values reads the values of a range.
func (e *etcd) values(ctx context.Context, g Gomega, which map[string][]byte) [][]byte {
	var out struct {
		KVs []struct {
			Value string `json:"value"`
		} `json:"kvs"`
	}
	e.call(ctx, g, "range", which, &out)
	values := make([][]byte, len(out.KVs))
	for i := range out.KVs {
		value, err := base64.StdEncoding.DecodeString(out.KVs[i].Value)
		g.Expect(err).NotTo(HaveOccurred())
		values[i] = value
	}
	return values
}

// remove deletes an existing key.
func (e *etcd) remove(ctx context.Context, g Gomega, key string) {
	var out struct {
		Deleted string `json:"deleted"`
	}
	e.call(ctx, g, "deleterange", map[string][]byte{"key": []byte(key)}, &out)
	g.Expect(out.Deleted).To(Equal("1"), "there is a key %s", key)
}

// call sends a request to etcd's key-value API, as any client does.
func (e *etcd) call(ctx context.Context, g Gomega, what string, which map[string][]byte, out any) {
	asked, err := json.Marshal(which)
	g.Expect(err).NotTo(HaveOccurred())
	transport, err := e.transport()
	g.Expect(err).NotTo(HaveOccurred())
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.client[0]+"/v3/kv/"+what, bytes.NewReader(asked))
	g.Expect(err).NotTo(HaveOccurred())
	response, err := transport.RoundTrip(request)
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(json.Unmarshal(body, out)).To(Succeed(), strings.TrimSpace(string(body)))
}
