package binding_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/interpreter/native"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/edits"
	"fairlead.dev/hub/flow/binding"
	"fairlead.dev/hub/flow/binding/storage"
	"fairlead.dev/hub/setup"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/cluster"
	"fairlead.dev/test/stagetest"
)

func TestMain(m *testing.M) { cluster.Main(m) }

// stage is a hub's API that runs only this stage.
type stage struct {
	cluster *cluster.Cluster
	hub     client.Client
	// end stops the hub before the end of the test.
	end func()

	events stagetest.Events
	// seen is what the detector of the running hub has seen, as the test says; nil to wait for nothing.
	seen *edits.Seen
	// reconciles are those of the stage that was started last by run.
	reconciles *stagetest.Reconciles

	mu     sync.Mutex
	writes []write
	// done are all writes, and between them when replicas were set, by namespace of the object.
	done []write
	// stopped are requests that always fail, as if the hub was killed before them.
	stopped []write
	// held are the worlds in which no Work can be created, by the prefix of their execution namespaces, and holding is how many requests
	// wait.
	held    map[string]chan struct{}
	holding map[string]int
}

// write is a write to a Work, by the path of the request.
type write struct{ method, path string }

// world is the part of the stage for one test: a namespace, and clusters whose names begin with the namespace's.
type world struct {
	*stage

	namespace string
}

// world returns the world of a test, with joined members.
func (s *stage) world(t *testing.T, members ...string) *world {
	t.Helper()
	w := &world{stage: s, namespace: s.cluster.Namespace(t)}
	for _, name := range members {
		w.join(t, name)
	}
	return w
}

// start starts the stage, without a limit for the storage of namespaces.
func start(t *testing.T) *stage {
	t.Helper()
	return startBounded(t, 0)
}

// startBounded starts the stage with a limit, in bytes, for the Works of a namespace.
func startBounded(t *testing.T, namespaceStorage int64) *stage {
	t.Helper()
	g := NewWithT(t)
	api := cluster.Shared(t, cluster.Options{Profile: cluster.Hub})
	s := &stage{cluster: api, hub: api.Client(t)}
	stored := storage.NewLedger(namespaceStorage)
	mgr := stagetest.Manager(t, stagetest.Intercept(api.Config, s.note), func(o *manager.Options) { o.Cache, o.Client = setup.CacheOptions(stored), setup.ClientOptions() })
	g.Expect(kube.Index(t.Context(), mgr.GetCache())).To(Succeed())
	g.Expect(binding.Register(mgr, binding.Deps{
		ExecutionNamespacePrefix: contract.DefaultExecutionNamespacePrefix,
		Interpreter:              &flaky{Interpreter: native.New(), stage: s}, Events: s.events.Record, Clock: clock.RealClock{},
		Stored: stored,
	})).To(Succeed())
	s.end = stagetest.Run(t, mgr)
	return s
}

// setReplicas stands for the setting of replicas, instead of a method.
const setReplicas = "SET REPLICAS"

// flaky fails to set the replicas of an object named flaky the first two times, like a webhook that is down.
type flaky struct {
	interpreter.Interpreter

	stage *stage
	asked atomic.Int32
}

func (f *flaky) ReviseReplicas(ctx context.Context, obj *unstructured.Unstructured, replicas int32) (*unstructured.Unstructured, error) {
	if obj.GetName() == "flaky" && f.asked.Add(1) <= 2 {
		return nil, errors.New("connection refused")
	}
	f.stage.mu.Lock()
	f.stage.done = append(f.stage.done, write{method: setReplicas, path: obj.GetNamespace()})
	f.stage.mu.Unlock()
	return f.Interpreter.ReviseReplicas(ctx, obj, replicas)
}

// note records the writes of the stage to Works, and fails those that are stopped.
func (s *stage) note(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet || !strings.Contains(r.URL.Path, "/"+contract.DefaultExecutionNamespacePrefix) {
		return nil, nil
	}
	s.await(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes = append(s.writes, write{method: r.Method, path: r.URL.Path})
	s.done = append(s.done, write{method: r.Method, path: r.URL.Path})
	if slices.ContainsFunc(s.stopped, func(x write) bool { return x.method == r.Method && strings.HasSuffix(r.URL.Path, "/"+x.path) }) {
		return nil, errStopped
	}
	return nil, nil
}

// stop makes requests with a method for a Work with a name fail before they are sent.
func (w *world) stop(method, name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = append(w.stopped, write{method: method, path: name})
}

// wrote returns, sorted, the methods of the writes to Works of this world since the last call.
func (w *world) wrote() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := []string{}
	w.writes = slices.DeleteFunc(w.writes, func(x write) bool {
		ours := strings.Contains(x.path, "/"+contract.DefaultExecutionNamespacePrefix+w.namespace)
		if ours {
			out = append(out, x.method)
		}
		return ours
	})
	slices.Sort(out)
	return out
}

// told returns the events about a template of this world, except those that its Works were written.
func (w *world) told(template string) []string {
	var out []string
	for _, e := range w.events.All() {
		ref, ok := e.Regarding.(*corev1.ObjectReference)
		if ok && ref.Name == template && (!e.Detail || e.Reason == "SyncWorkSucceed") && (ref.Namespace == "" || ref.Namespace == w.namespace) {
			out = append(out, e.Type+" "+e.Reason+": "+e.Note)
		}
	}
	return out
}

// member returns the full name of a cluster of this world.
func (w *world) member(name string) string { return w.namespace + "-" + name }

// join adds a cluster and its execution namespace.
func (w *world) join(t *testing.T, name string) {
	t.Helper()
	g := NewWithT(t)
	g.Expect(w.hub.Create(t.Context(), builder.MakeCluster(w.member(name)).Obj())).To(Succeed())
	w.openNamespace(t, name)
}

func (w *world) openNamespace(t *testing.T, name string) {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: contract.DefaultExecutionNamespacePrefix + w.member(name)}}
	NewWithT(t).Expect(w.hub.Create(t.Context(), ns)).To(Succeed())
}

// create creates a template, and the binding that the detector and the scheduler would create.
func (w *world) create(t *testing.T, template *unstructured.Unstructured, members ...string) *workv1alpha2.ResourceBinding {
	t.Helper()
	g := NewWithT(t)
	g.Expect(w.hub.Create(t.Context(), template)).To(Succeed())
	b := &workv1alpha2.ResourceBinding{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace, Name: contract.BindingName(template.GetKind(), template.GetName()),
			Labels:     map[string]string{contract.ResourceBindingPermanentIDLabel: "id-of-" + string(template.GetUID())},
			Finalizers: []string{contract.BindingFinalizer},
		},
		Spec: workv1alpha2.ResourceBindingSpec{
			Resource: workv1alpha2.ObjectReference{
				APIVersion: template.GetAPIVersion(), Kind: template.GetKind(), Namespace: w.namespace, Name: template.GetName(),
				UID: template.GetUID(), ResourceVersion: template.GetResourceVersion(),
			},
			Clusters: w.shares(members...),
		},
	}
	if replicas, ok, err := unstructured.NestedInt64(template.Object, "spec", "replicas"); ok && err == nil {
		b.Spec.Replicas = int32(replicas)
		for i := range b.Spec.Clusters {
			b.Spec.Clusters[i].Replicas = b.Spec.Replicas
		}
	}
	g.Expect(w.hub.Create(t.Context(), b)).To(Succeed())
	return b
}

func (w *world) shares(members ...string) []workv1alpha2.TargetCluster {
	out := make([]workv1alpha2.TargetCluster, len(members))
	for i, name := range members {
		out[i].Name = w.member(name)
	}
	return out
}

// works returns the members that have a Work whose name has a prefix.
func (w *world) works(t *testing.T, prefix string) []string {
	t.Helper()
	var list workv1alpha1.WorkList
	NewWithT(t).Expect(w.hub.List(t.Context(), &list)).To(Succeed())
	out := []string{}
	for _, work := range list.Items {
		name, ours := strings.CutPrefix(work.Namespace, contract.DefaultExecutionNamespacePrefix+w.namespace+"-")
		if ours && strings.HasPrefix(work.Name, prefix) {
			if !work.DeletionTimestamp.IsZero() {
				name += " going"
			}
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// work returns the Work of a template in a member.
func (w *world) work(t *testing.T, member string, template *unstructured.Unstructured) *workv1alpha1.Work {
	t.Helper()
	work := &workv1alpha1.Work{}
	NewWithT(t).Expect(w.hub.Get(t.Context(), w.workKey(member, template), work)).To(Succeed())
	return work
}

func (w *world) workKey(member string, template *unstructured.Unstructured) client.ObjectKey {
	return client.ObjectKey{
		Namespace: contract.DefaultExecutionNamespacePrefix + w.member(member),
		Name:      contract.WorkName(template.GetKind(), template.GetNamespace(), template.GetName()),
	}
}

// manifest returns a field of a Work's manifest.
func manifest(t *testing.T, work *workv1alpha1.Work, path ...string) any {
	t.Helper()
	g := NewWithT(t)
	g.Expect(work.Spec.Workload.Manifests).To(HaveLen(1))
	var obj map[string]any
	g.Expect(json.Unmarshal(work.Spec.Workload.Manifests[0].Raw, &obj)).To(Succeed())
	value, _, err := unstructured.NestedFieldNoCopy(obj, path...)
	g.Expect(err).NotTo(HaveOccurred())
	return value
}

// change edits an object, retrying on conflicts.
func change[O client.Object](t *testing.T, w *world, o O, mutate func(O)) {
	t.Helper()
	stagetest.Change(t, w.hub, o, func() { mutate(o) })
}

// intent returns the deletion intent that the hub wrote on a Work.
func (w *world) intent(t *testing.T, member string, template *unstructured.Unstructured) string {
	t.Helper()
	return w.work(t, member, template).Annotations[contract.DeletionIntentAnnotation]
}

// release removes the finalizer of a Work that is being deleted, as the agent does.
func (w *world) release(t *testing.T, work *workv1alpha1.Work) {
	t.Helper()
	change(t, w, work, func(work *workv1alpha1.Work) { controllerutil.RemoveFinalizer(work, contract.ExecutionFinalizer) })
}
