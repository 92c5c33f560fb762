package execution_test

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"fairlead.dev/agent/execution"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/interpreter/native"
	"fairlead.dev/common/kube"
	"fairlead.dev/test/cluster"
	"fairlead.dev/test/stagetest"
)

// world is one API server that serves as both hub and member of an agent, which has only the execution stage, and
// what that stage reported.
type world struct {
	client   client.Client
	cluster  string // name of the Cluster; empty if there is none
	works    string // execution namespace
	member   string // a namespace of the member
	reports  *reports
	requests *requests
	events   *events
	executor *execution.Reconciler
	// kept are the Works that the agent knows at start, and pastKinds the kinds that it once applied. journal is
	// where it keeps them; nil keeps none.
	kept      []execution.Kept
	pastKinds []schema.GroupVersionKind
	journal   execution.Journal
	// refused returns since when the hub refuses the agent, and whether that lasts; nil means never.
	refused func() (time.Time, bool)
	// deps changes the dependencies of the stage; nil leaves them.
	deps func(*execution.Deps)
	// starting makes the member unready and hides the late kinds from its discovery.
	starting atomic.Bool
	late     []schema.GroupVersionKind
}

// newWorld starts an agent of its own for a test.
func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldOf(t, native.New())
}

// newWorldOf starts a world that uses the given interpreter.
func newWorldOf(t *testing.T, kinds interpreter.Interpreter) *world {
	t.Helper()
	return newWorldWith(t, kinds, "")
}

// newWorldWith starts one whose Cluster has a name.
func newWorldWith(t *testing.T, kinds interpreter.Interpreter, name string) *world {
	t.Helper()
	w := unstarted(t)
	w.cluster = name
	w.start(t, cluster.Shared(t, cluster.Options{Profile: cluster.Hub}).Config, kinds)
	return w
}

// unstarted returns a world whose agent the test starts.
func unstarted(t *testing.T) *world {
	t.Helper()
	c := cluster.Shared(t, cluster.Options{Profile: cluster.Hub})
	return &world{
		client: c.Client(t), works: c.Namespace(t), member: c.Namespace(t),
		requests: &requests{}, reports: newReports(), events: &events{},
	}
}

// start runs the stage until the test ends.
func (w *world) start(t *testing.T, config *rest.Config, kinds interpreter.Interpreter) {
	t.Helper()
	w.startBetween(t, config, config, kinds)
}

// startBetween runs the stage with separate configurations for hub and member, until the test ends or stop is called.
func (w *world) startBetween(t *testing.T, config, member *rest.Config, kinds interpreter.Interpreter) (stop func()) {
	t.Helper()
	g := NewWithT(t)
	scheme, err := kube.NewScheme()
	g.Expect(err).NotTo(HaveOccurred())
	mgr, err := ctrl.NewManager(config, manager.Options{
		Scheme:     scheme,
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: ctrlconfig.Controller{SkipNameValidation: new(true)},

		GracefulShutdownTimeout: new(stagetest.ShutdownTimeout),
		Cache: cache.Options{ByObject: map[client.Object]cache.ByObject{
			&workv1alpha1.Work{}: {Namespaces: map[string]cache.Config{w.works: {}}, UnsafeDisableDeepCopy: new(true)},
		}},
	})
	g.Expect(err).NotTo(HaveOccurred())
	hubReader, err := client.New(config, client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())
	memberConfig := rest.CopyConfig(member)
	memberConfig.Wrap(w.requests.wrap)
	memberClient, err := client.New(memberConfig, client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())
	asking, err := discovery.NewDiscoveryClientForConfig(memberConfig)
	g.Expect(err).NotTo(HaveOccurred())
	memberCache, err := cache.New(memberConfig, cache.Options{
		Scheme:                       scheme,
		DefaultLabelSelector:         labels.SelectorFromSet(labels.Set{contract.ManagedLabel: contract.LabelTrue}),
		DefaultTransform:             execution.Slim,
		DefaultUnsafeDisableDeepCopy: new(true),
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(mgr.Add(manager.RunnableFunc(func(ctx context.Context) error { return memberCache.Start(ctx) }))).To(Succeed())
	deps := execution.Deps{
		Namespace:    w.works,
		Cluster:      w.cluster,
		HubReader:    hubReader,
		MemberClient: memberClient,
		MemberCache:  memberCache,
		NamespacedKinds: func(context.Context) ([]schema.GroupVersionKind, error) {
			out := []schema.GroupVersionKind{corev1.SchemeGroupVersion.WithKind("ConfigMap"), corev1.SchemeGroupVersion.WithKind("Secret")}
			if !w.starting.Load() {
				out = append(out, w.late...)
			}
			return out, nil
		},
		Discovery:   memberDiscovery{asking, &w.starting},
		Interpreter: kinds,
		Reporter:    w.reports,
		Events:      w.events.sink,
		StuckAfter:  3 * time.Second, // more than the agent's caches may be behind
		Clock:       clock.RealClock{},
		Registry:    prometheus.NewRegistry(),
		Kept:        w.kept,
		PastKinds:   w.pastKinds,
		Journal:     w.journal,
		Refused:     w.refused,
	}
	if w.deps != nil {
		w.deps(&deps)
	}
	w.executor, err = execution.Register(mgr, deps)
	g.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		NewWithT(t).Expect(<-done).To(Succeed())
	})
	t.Cleanup(stop)
	return stop
}

// work creates a Work with manifests.
func (w *world) work(t *testing.T, name string, manifests ...any) *workv1alpha1.Work {
	t.Helper()
	work := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{
		Namespace: w.works, Name: name, Finalizers: []string{contract.ExecutionFinalizer},
	}}
	work.Spec.Workload.Manifests = raw(t, manifests...)
	w.reports.forget(client.ObjectKeyFromObject(work))
	NewWithT(t).Expect(w.client.Create(t.Context(), work)).To(Succeed())
	return work
}

// change changes a Work.
func (w *world) change(t *testing.T, work *workv1alpha1.Work, change func(*workv1alpha1.Work)) {
	t.Helper()
	before := work.DeepCopy()
	change(work)
	NewWithT(t).Expect(w.client.Patch(t.Context(), work, client.MergeFrom(before))).To(Succeed())
}

// end deletes a Work as the hub does, with an intent.
func (w *world) end(t *testing.T, work *workv1alpha1.Work, intent string) {
	t.Helper()
	w.intend(t, work, intent)
	NewWithT(t).Expect(w.client.Delete(t.Context(), work)).To(Succeed())
}

// intend annotates a Work with the reason for its deletion.
func (w *world) intend(t *testing.T, work *workv1alpha1.Work, intent string) {
	t.Helper()
	intended := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+contract.DeletionIntentAnnotation+`":"`+intent+`"}}}`))
	NewWithT(t).Expect(w.client.Patch(t.Context(), work, intended)).To(Succeed())
}

func raw(t *testing.T, manifests ...any) []workv1alpha1.Manifest {
	t.Helper()
	out := make([]workv1alpha1.Manifest, 0, len(manifests))
	for _, m := range manifests {
		text, err := json.Marshal(m)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		out = append(out, workv1alpha1.Manifest{RawExtension: runtime.RawExtension{Raw: text}})
	}
	return out
}

// configMap returns a manifest.
func (w *world) configMap(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: w.member, Name: name},
		Data:       data,
	}
}

// marked returns a ConfigMap as an agent leaves it that applied it for the Work of its name.
func (w *world) marked(name string) *corev1.ConfigMap {
	cm := w.configMap(name, map[string]string{"a": "1"})
	cm.Labels = map[string]string{contract.ManagedLabel: contract.LabelTrue}
	cm.Annotations = map[string]string{contract.WorkNamespaceAnnotation: w.works, contract.WorkNameAnnotation: name}
	return cm
}

// get reads a ConfigMap of the member.
func (w *world) get(g Gomega, name string) *corev1.ConfigMap {
	cm := &corev1.ConfigMap{}
	g.Expect(w.client.Get(context.Background(), client.ObjectKey{Namespace: w.member, Name: name}, cm)).To(Succeed())
	return cm
}

// watches applies an object and waits until the agent reverts a change of it. By then its informer has synced;
// otherwise the agent waits only half a second for that, and then reads the member directly.
func (w *world) watches(t *testing.T, manifest *unstructured.Unstructured) {
	t.Helper()
	g := NewWithT(t)
	manifest.SetLabels(map[string]string{"put": "back"})
	w.isApplied(t, w.work(t, "watched-"+manifest.GetName(), manifest))
	for range 2 { // the first change may be part of the initial list
		w.patch(t, manifest.DeepCopy(), "somebody", map[string]any{"metadata": map[string]any{"labels": map[string]any{"put": "elsewhere"}}})
		g.Eventually(func(g Gomega) {
			live := &unstructured.Unstructured{}
			live.SetGroupVersionKind(manifest.GroupVersionKind())
			g.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(manifest), live)).To(Succeed())
			g.Expect(live.GetLabels()).To(HaveKeyWithValue("put", "back"))
		}).WithTimeout(waitTimeout).Should(Succeed())
	}
}

// isApplied waits until the present generation of a Work is applied.
func (w *world) isApplied(t *testing.T, work *workv1alpha1.Work) {
	t.Helper()
	NewWithT(t).Eventually(func(g Gomega) {
		c := w.reports.applied(work)
		g.Expect(c.Status).To(Equal(metav1.ConditionTrue), c.Message)
		g.Expect(c.ObservedGeneration).To(Equal(work.Generation))
	}).WithTimeout(waitTimeout).Should(Succeed())
}

// isNotApplied waits until a Work is reported as not applied, and returns the message.
func (w *world) isNotApplied(t *testing.T, work *workv1alpha1.Work) string {
	t.Helper()
	var message string
	NewWithT(t).Eventually(func(g Gomega) {
		c := w.reports.applied(work)
		g.Expect(c.Status).To(Equal(metav1.ConditionFalse))
		message = c.Message
	}).WithTimeout(waitTimeout).Should(Succeed())
	return message
}
