package rollout

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter/native"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/edits"
	"fairlead.dev/common/revision"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/cluster"
	"fairlead.dev/test/stagetest"
)

func TestMain(m *testing.M) { cluster.Main(m) }

func eventually(t *testing.T, check func(g Gomega)) {
	t.Helper()
	NewWithT(t).Eventually(check).WithTimeout(stagetest.Timeout).WithPolling(stagetest.Poll).Should(Succeed())
}

// world is a hub with this stage, one application, and a simulation of the binding stage and the agents.
type world struct {
	t         *testing.T
	client    client.Client
	namespace string
	strategy  string
	clusters  []string
	template  *unstructured.Unstructured
	// config is the template's dependency; nil if it has none. With it, a revision changes nothing in the Works of the template itself.
	config  *corev1.ConfigMap
	events  *stagetest.Events
	writes  *counter
	stopHub func()
	cfg     *rest.Config
	// seen is what the detector of the next hub to start has seen; nil if rollouts need not wait for it.
	seen *edits.Seen

	mu sync.Mutex
	// fares says how a revision fares in a cluster, or what it needs does there; healthy if it says nothing.
	fares map[string]string
	// offline are the clusters whose agents do nothing.
	offline map[string]bool
	// withheld says that no Work is created, and unconcerned that revisions change nothing in existing ones.
	withheld, unconcerned bool
}

// isRendered says of every Work from before that it is what a revision renders.
type isRendered bool

// IsRendered implements Renderer.
func (i isRendered) IsRendered(context.Context, kube.Binding, *workv1alpha1.Work, revision.Content) (bool, error) {
	return bool(i), nil
}

// start makes a world of some clusters, with a strategy that is given as its spec without waves' names.
func start(t *testing.T, n int, strategy fairleadv1alpha1.RolloutStrategySpec) *world {
	t.Helper()
	g := NewWithT(t)
	hub := cluster.Shared(t, cluster.Options{})
	w := &world{
		t: t, client: hub.Client(t), namespace: hub.Namespace(t), strategy: "s-" + rand.String(6), fares: map[string]string{}, offline: map[string]bool{}, cfg: hub.Config,
	}
	if strategy.Settle == nil {
		strategy.Settle = &metav1.Duration{Duration: 50 * time.Millisecond}
	}
	g.Expect(w.client.Create(t.Context(), &fairleadv1alpha1.RolloutStrategy{ObjectMeta: metav1.ObjectMeta{Name: w.strategy}, Spec: strategy})).To(Succeed())
	for i := range n {
		c := builder.MakeCluster(fmt.Sprintf("c%d-%s", i, rand.String(6))).Label("ring", fmt.Sprint(i)).Obj()
		g.Expect(w.client.Create(t.Context(), c)).To(Succeed())
		w.heard(c.Name, true)
		w.clusters = append(w.clusters, c.Name)
		g.Expect(client.IgnoreAlreadyExists(w.client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: executionNamespace(c.Name)}}))).To(Succeed())
	}
	w.template = builder.MakeDeployment(w.namespace, "web").Obj()
	g.Expect(w.client.Create(t.Context(), w.template)).To(Succeed())
	w.startHub()
	return w
}

// running makes such a world in which the first revision is everywhere.
func running(t *testing.T, n int, strategy fairleadv1alpha1.RolloutStrategySpec) *world {
	t.Helper()
	w := start(t, n, strategy)
	w.bind()
	w.awaitPhase(1, fairleadv1alpha1.RolloutCompleted)
	w.awaitCaughtUp(metav1.ConditionTrue, fairleadv1alpha1.ReasonRolloutNobodyBehind)
	return w
}

func executionNamespace(name string) string {
	return contract.ExecutionNamespace(contract.DefaultExecutionNamespacePrefix, name)
}

// startHub starts the stage, with a cache that may be changed.
func (w *world) startHub(change ...func(*cache.Options)) {
	w.t.Helper()
	g := NewWithT(w.t)
	w.writes = &counter{namespaces: []string{w.namespace}}
	for _, name := range w.clusters {
		w.writes.namespaces = append(w.writes.namespaces, executionNamespace(name))
	}
	mgr := stagetest.Manager(w.t, stagetest.Intercept(w.cfg, w.writes.note), func(o *manager.Options) {
		o.Client = client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}}
		// The tests share an API server, and each hub is to see its own application only.
		own := cache.ByObject{Namespaces: map[string]cache.Config{w.namespace: {}}}
		o.Cache.ByObject = map[client.Object]cache.ByObject{&workv1alpha2.ResourceBinding{}: own, &fairleadv1alpha1.StagedRollout{}: own}
		for _, c := range change {
			c(&o.Cache)
		}
	})
	g.Expect(kube.Index(w.t.Context(), mgr.GetCache())).To(Succeed())
	if w.events == nil {
		w.events = &stagetest.Events{}
	}
	g.Expect(Register(mgr, Deps{
		ExecutionNamespacePrefix: contract.DefaultExecutionNamespacePrefix, Interpreter: native.New(), Renderer: isRendered(true),
		Seen: w.seen, Events: w.events.Record, Clock: clock.RealClock{}, Registry: prometheus.NewRegistry(),
	})).To(Succeed())
	w.stopHub = stagetest.Run(w.t, mgr)
	g.Expect(mgr.GetCache().WaitForCacheSync(w.t.Context())).To(BeTrue())
}

// bind makes the binding of the template, as the detector and the scheduler do.
func (w *world) bind() {
	w.t.Helper()
	b := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{
		Namespace: w.namespace, Name: "web-deployment", Labels: map[string]string{contract.ResourceBindingPermanentIDLabel: rand.String(12)},
		Annotations: map[string]string{contract.RolloutStrategyAnnotation: w.strategy},
	}}
	b.Spec.Resource = w.ref()
	b.Spec.Replicas = 1
	for _, name := range w.clusters {
		b.Spec.Clusters = append(b.Spec.Clusters, workv1alpha2.TargetCluster{Name: name, Replicas: 1})
	}
	if w.config != nil {
		b.Spec.PropagateDeps = true
		b.Annotations[contract.DependenciesAnnotation] = fmt.Sprintf(`[{"apiVersion":"v1","kind":"ConfigMap","namespace":%q,"name":%q}]`, w.namespace, w.config.Name)
	}
	NewWithT(w.t).Expect(w.client.Create(w.t.Context(), b)).To(Succeed())
	go w.deliver()
}

// needsConfig has the template need a ConfigMap, whose binding is attached to its own. It is to be called before bind.
func (w *world) needsConfig() {
	w.t.Helper()
	g := NewWithT(w.t)
	w.config = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "config"}, Data: map[string]string{"key": "1"}}
	g.Expect(w.client.Create(w.t.Context(), w.config)).To(Succeed())
	b := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{
		Namespace: w.namespace, Name: "config-configmap", Labels: map[string]string{contract.ResourceBindingPermanentIDLabel: rand.String(12)},
	}}
	b.Spec.Resource = w.configRef()
	by := workv1alpha2.BindingSnapshot{Namespace: w.namespace, Name: w.key().Name}
	for _, name := range w.clusters {
		by.Clusters = append(by.Clusters, workv1alpha2.TargetCluster{Name: name})
	}
	b.Spec.RequiredBy = []workv1alpha2.BindingSnapshot{by}
	g.Expect(w.client.Create(w.t.Context(), b)).To(Succeed())
}

func (w *world) configRef() workv1alpha2.ObjectReference {
	return workv1alpha2.ObjectReference{
		APIVersion: "v1", Kind: "ConfigMap", Namespace: w.namespace, Name: "config", UID: w.config.UID, ResourceVersion: w.config.ResourceVersion,
	}
}

// editConfig changes what the template needs, and has its binding know it.
func (w *world) editConfig(value string) {
	w.t.Helper()
	w.config.Data["key"] = value
	NewWithT(w.t).Expect(w.client.Update(w.t.Context(), w.config)).To(Succeed())
	w.changeConfigBinding(func(b *workv1alpha2.ResourceBinding) { b.Spec.Resource = w.configRef() })
}

// changeConfigBinding changes the binding of what the template needs.
func (w *world) changeConfigBinding(f func(*workv1alpha2.ResourceBinding)) {
	w.t.Helper()
	b := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "config-configmap"}}
	stagetest.Change(w.t, w.client, b, func() { f(b) })
}

// bindOther makes another binding of the template, which goes by a strategy, to the same clusters. Nobody delivers to it.
func (w *world) bindOther(called, strategy string) *workv1alpha2.ResourceBinding {
	w.t.Helper()
	b := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{
		Namespace: w.namespace, Name: called, Labels: map[string]string{contract.ResourceBindingPermanentIDLabel: rand.String(12)},
		Annotations: map[string]string{contract.RolloutStrategyAnnotation: strategy},
	}}
	b.Spec.Resource = w.ref()
	b.Spec.Replicas = 1
	for _, name := range w.clusters {
		b.Spec.Clusters = append(b.Spec.Clusters, workv1alpha2.TargetCluster{Name: name, Replicas: 1})
	}
	NewWithT(w.t).Expect(w.client.Create(w.t.Context(), b)).To(Succeed())
	return b
}

// setConfig says how what revision 2 needs fares in the first cluster, likewise; withheld if no Work is written, unmounted if it is a claim
// without a volume.
func (w *world) setConfig(how string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fares["config "+w.clusters[0]+" 2"] = how
}

func (w *world) ref() workv1alpha2.ObjectReference {
	return workv1alpha2.ObjectReference{
		APIVersion: "apps/v1", Kind: "Deployment", Namespace: w.namespace, Name: "web", UID: w.template.GetUID(), ResourceVersion: w.template.GetResourceVersion(),
	}
}

// edit changes the image of the template, and has the binding know it.
func (w *world) edit(image string) {
	w.t.Helper()
	g := NewWithT(w.t)
	live := w.template.DeepCopy()
	g.Expect(unstructured.SetNestedSlice(live.Object, []any{map[string]any{"name": "web", "image": image}}, "spec", "template", "spec", "containers")).To(Succeed())
	g.Expect(w.client.Update(w.t.Context(), live)).To(Succeed())
	w.template = live
	w.change(func(b *workv1alpha2.ResourceBinding) { b.Spec.Resource = w.ref() })
}

// change changes the binding.
func (w *world) change(f func(*workv1alpha2.ResourceBinding)) {
	w.t.Helper()
	eventually(w.t, func(g Gomega) {
		b := w.binding(g)
		f(b)
		g.Expect(w.client.Update(w.t.Context(), b)).To(Succeed())
	})
}

func (w *world) key() types.NamespacedName {
	return types.NamespacedName{Namespace: w.namespace, Name: "web-deployment"}
}

func (w *world) binding(g Gomega) *workv1alpha2.ResourceBinding {
	b := &workv1alpha2.ResourceBinding{}
	g.Expect(w.client.Get(w.t.Context(), w.key(), b)).To(Succeed())
	return b
}

func (w *world) rollout(g Gomega) *fairleadv1alpha1.StagedRollout {
	r := &fairleadv1alpha1.StagedRollout{}
	g.Expect(w.client.Get(w.t.Context(), w.key(), r)).To(Succeed())
	return r
}

// tell writes the spec of the rollout, as a person.
func (w *world) tell(f func(*fairleadv1alpha1.StagedRolloutSpec)) {
	w.t.Helper()
	eventually(w.t, func(g Gomega) {
		r := w.rollout(g)
		f(&r.Spec)
		g.Expect(w.client.Update(w.t.Context(), r)).To(Succeed())
	})
}

// awaitPhase waits until the newest revision is of a number and in a phase.
func (w *world) awaitPhase(number int64, phase fairleadv1alpha1.RolloutPhase) *fairleadv1alpha1.StagedRollout {
	w.t.Helper()
	var r *fairleadv1alpha1.StagedRollout
	eventually(w.t, func(g Gomega) {
		r = w.rollout(g)
		g.Expect(r.Status.Revision).To(Equal(number))
		g.Expect(r.Status.Phase).To(Equal(phase), "%+v", r.Status)
	})
	return r
}

// awaitCaughtUp waits until the rollout says whether all targets have what is stable, and why.
func (w *world) awaitCaughtUp(status metav1.ConditionStatus, reason string) {
	w.t.Helper()
	eventually(w.t, func(g Gomega) {
		said := meta.FindStatusCondition(w.rollout(g).Status.Conditions, fairleadv1alpha1.RolloutConditionCaughtUp)
		g.Expect(said).NotTo(BeNil())
		g.Expect(said.Status).To(Equal(status), said.Message)
		g.Expect(said.Reason).To(Equal(reason), said.Message)
	})
}

// awaitReason waits until the rollout says why it does not go on, and returns what it says.
func (w *world) awaitReason(reason string) string {
	w.t.Helper()
	var message string
	eventually(w.t, func(g Gomega) {
		said := meta.FindStatusCondition(w.rollout(g).Status.Conditions, fairleadv1alpha1.RolloutConditionProgressing)
		g.Expect(said).NotTo(BeNil())
		g.Expect(said.Reason).To(Equal(reason))
		message = said.Message
	})
	return message
}

// have returns the number of the revision that each cluster has, by the clusters' order.
func (w *world) have(g Gomega) []int64 {
	out := make([]int64, len(w.clusters))
	for i, name := range w.clusters {
		if work := w.work(g, name); work != nil {
			out[i] = revision.Parse(work.Annotations[contract.RevisionAnnotation]).Number
		}
	}
	return out
}

func (w *world) work(g Gomega, name string) *workv1alpha1.Work {
	work := &workv1alpha1.Work{}
	err := w.client.Get(w.t.Context(), client.ObjectKey{Namespace: executionNamespace(name), Name: w.workName()}, work)
	if apierrors.IsNotFound(err) {
		return nil
	}
	g.Expect(err).NotTo(HaveOccurred())
	return work
}

func (w *world) workName() string { return contract.WorkName("Deployment", w.namespace, "web") }
