package setup_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/setup"
	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter/native"
	"fairlead.dev/test/cluster"
	"fairlead.dev/test/stagetest"
)

func TestMain(m *testing.M) { cluster.Main(m) }

// waitTimeout bounds waiting; nothing here takes that long.
const waitTimeout = time.Minute

// world is a hub, a member and an agent between them. Both are one API server, which
// runs no controllers of workloads: the tests play their part.
type world struct {
	client client.Client
	name   string // of the cluster
	works  string // execution namespace
	member string // a namespace of the member
	writes *writes
	config *rest.Config // of the API server
}

// writes are the requests of the agent to the hub that write something.
type writes struct {
	mu    sync.Mutex
	lines []string
}

func (w *writes) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		if req.Method != http.MethodGet {
			body := ""
			if req.Body != nil {
				raw, err := io.ReadAll(req.Body)
				if err != nil {
					return nil, err
				}
				body = string(raw)
				req.Body = io.NopCloser(strings.NewReader(body))
			}
			w.mu.Lock()
			w.lines = append(w.lines, req.Method+" "+req.URL.Path+" "+body)
			w.mu.Unlock()
		}
		return next.RoundTrip(req)
	})
}

// about returns the writes whose path or body contains a text.
func (w *writes) about(text string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := []string{}
	for _, line := range w.lines {
		if strings.Contains(line, text) {
			out = append(out, line)
		}
	}
	return out
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// newWorld joins a cluster by hand, as the hub's stages do, and runs its agent.
func newWorld(t *testing.T, name string) *world {
	t.Helper()
	w := newJoined(t, name)
	w.run(t, nil)
	// The agent waits until the hub has told it the namespace of its Works.
	w.place(t)
	return w
}

// place tells the agent the namespace of its Works.
func (w *world) place(tb testing.TB) {
	tb.Helper()
	w.changeCluster(tb, func(c *clusterv1alpha1.Cluster) {
		c.Annotations = map[string]string{contract.ExecutionNamespaceAnnotation: w.works}
	})
}

// newJoined joins a cluster by hand, whose agent does not run yet.
func newJoined(tb testing.TB, name string) *world {
	tb.Helper()
	g := NewWithT(tb)
	c := cluster.Shared(tb, cluster.Options{Profile: cluster.Hub})
	w := &world{client: c.Client(tb), name: name, works: c.Namespace(tb), member: c.Namespace(tb), writes: &writes{}, config: c.Config}

	err := w.client.Create(tb.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: contract.ClusterNamespace}})
	if !apierrors.IsAlreadyExists(err) {
		g.Expect(err).NotTo(HaveOccurred())
	}
	g.Expect(w.client.Create(tb.Context(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: contract.ClusterNamespace, Name: name},
	})).To(Succeed())
	g.Expect(w.client.Create(tb.Context(), &clusterv1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       clusterv1alpha1.ClusterSpec{SyncMode: clusterv1alpha1.Pull},
	})).To(Succeed())
	return w
}

// run runs the agent until the test ends or stop is called.
func (w *world) run(tb testing.TB, change func(*setup.Options)) (stop func()) {
	tb.Helper()
	config := rest.CopyConfig(w.config)
	config.WrapTransport = w.writes.wrap
	o := setup.Options{
		Hub: config, Member: w.config, Cluster: w.name,
		Interpreter: native.New(), Clock: clock.RealClock{},
		StatusFrequency: time.Second, LeaseDuration: 4 * time.Second, LeaseRenewFraction: 0.25, ShutdownTimeout: stagetest.ShutdownTimeout,
	}
	if change != nil {
		change(&o)
	}
	ctx, cancel := context.WithCancel(tb.Context())
	done := make(chan error, 1)
	go func() { done <- setup.Run(ctx, o) }()
	stop = sync.OnceFunc(func() {
		cancel()
		NewWithT(tb).Expect(<-done).To(Succeed())
	})
	tb.Cleanup(stop)
	return stop
}

func (w *world) cluster(g Gomega) *clusterv1alpha1.Cluster {
	c := &clusterv1alpha1.Cluster{}
	g.Expect(w.client.Get(context.Background(), client.ObjectKey{Name: w.name}, c)).To(Succeed())
	return c
}

func (w *world) changeCluster(tb testing.TB, change func(*clusterv1alpha1.Cluster)) {
	tb.Helper()
	g := NewWithT(tb)
	c := w.cluster(g)
	before := c.DeepCopy()
	change(c)
	g.Expect(w.client.Patch(tb.Context(), c, client.MergeFrom(before))).To(Succeed())
}

func (w *world) work(tb testing.TB, name string, manifests ...any) *workv1alpha1.Work {
	tb.Helper()
	work := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{
		Namespace: w.works, Name: name, Finalizers: []string{contract.ExecutionFinalizer},
	}}
	for _, m := range manifests {
		text, err := json.Marshal(m)
		NewWithT(tb).Expect(err).NotTo(HaveOccurred())
		work.Spec.Workload.Manifests = append(work.Spec.Workload.Manifests, workv1alpha1.Manifest{RawExtension: runtime.RawExtension{Raw: text}})
	}
	NewWithT(tb).Expect(w.client.Create(tb.Context(), work)).To(Succeed())
	return work
}

// end deletes a Work as the hub does, with an intent.
func (w *world) end(tb testing.TB, work *workv1alpha1.Work) {
	tb.Helper()
	g := NewWithT(tb)
	intended := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+contract.DeletionIntentAnnotation+`":"`+contract.DeletionRemoved+`"}}}`))
	g.Expect(w.client.Patch(tb.Context(), work, intended)).To(Succeed())
	g.Expect(w.client.Delete(tb.Context(), work)).To(Succeed())
}

func (w *world) read(g Gomega, work *workv1alpha1.Work) *workv1alpha1.Work {
	out := &workv1alpha1.Work{}
	g.Expect(w.client.Get(context.Background(), client.ObjectKeyFromObject(work), out)).To(Succeed())
	return out
}

func (w *world) configMap(name string) map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": name, "namespace": w.member},
		"data":     map[string]any{"a": "1"},
	}
}

func (w *world) deployment(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{
			"name": name, "namespace": w.member,
			"annotations": map[string]any{contract.TemplateGenerationAnnotation: "1"},
		},
		"spec": map[string]any{
			"replicas": int64(2),
			"selector": map[string]any{"matchLabels": map[string]any{"app": name}},
			"template": map[string]any{
				"metadata": map[string]any{"labels": map[string]any{"app": name}},
				"spec":     map[string]any{"containers": []any{map[string]any{"name": "c", "image": "nginx"}}},
			},
		},
	}}
}
