package rollout

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter/native"
	"fairlead.dev/common/kube"
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

// world is a hub with this stage, one application, and what the binding stage and the agents do.
type world struct {
	t         *testing.T
	client    client.Client
	namespace string
	strategy  string
	clusters  []string
	template  *unstructured.Unstructured
	// config is what the template needs; nil if it needs nothing. Then a revision changes nothing in the Works of the template itself.
	config  *corev1.ConfigMap
	events  *stagetest.Events
	writes  *counter
	stopHub func()
	cfg     *rest.Config

	mu sync.Mutex
	// fares says how a revision fares in a cluster, or what it needs does there; healthy if it says nothing.
	fares map[string]string
	// offline are the clusters whose agents do nothing.
	offline map[string]bool
	// withheld says that no Work is made, and unconcerned that revisions change nothing in those that there are.
	withheld, unconcerned bool
}

// counter counts the requests of a hub.
type counter struct {
	// namespaces are that of its application and those of its clusters.
	namespaces []string
	statuses   atomic.Int64

	mu    sync.Mutex
	asked []string
	// refuses is the rollout whose status is refused without a reason, and refused how often it was.
	refuses string
	refused int
}

// refuse has the status of a rollout be refused from now on, as when it is larger than what the database takes.
func (c *counter) refuse(rollout string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refuses = rollout
}

// refusals is how often it was.
func (c *counter) refusals() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.refused
}

// answer is what is answered to the write of a status that is refused; nil if it is not.
func (c *counter) answer(req *http.Request) *http.Response {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refuses == "" || !strings.HasSuffix(req.URL.Path, "/stagedrollouts/"+c.refuses+"/status") {
		return nil
	}
	c.refused++
	const body = `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"etcdserver: request is too large","code":500}`
	return &http.Response{
		Status: "500 Internal Server Error", StatusCode: http.StatusInternalServerError, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), Request: req,
	}
}

// requests are those about its application that are no informer's, by method and path.
func (c *counter) requests() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.asked)
}

// note counts a request. An informer that lost its watch lists anew, at any time.
func (c *counter) note(req *http.Request) (*http.Response, error) {
	_, about, _ := strings.Cut(req.URL.Path, "/namespaces/")
	namespace, about, _ := strings.Cut(about, "/")
	isInformers := req.Method == http.MethodGet && (about == "resourcebindings" || about == "stagedrollouts")
	if slices.Contains(c.namespaces, namespace) && !isInformers {
		c.mu.Lock()
		c.asked = append(c.asked, req.Method+" "+about)
		c.mu.Unlock()
	}
	if req.Method == http.MethodPatch && strings.Contains(req.URL.Path, "stagedrollouts/") && strings.HasSuffix(req.URL.Path, "/status") {
		c.statuses.Add(1)
		return c.answer(req), nil
	}
	return nil, nil
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
		Events: w.events.Record, Clock: clock.RealClock{}, Registry: prometheus.NewRegistry(),
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

// set says how revision 2 fares in the first cluster: healthy, unhealthy, refused or silent.
func (w *world) set(how string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fares[w.clusters[0]+" 2"] = how
}

// goes takes a cluster offline, or brings it back.
func (w *world) goes(index int, online bool) {
	w.reports(index, online)
	w.heard(w.clusters[index], online)
}

// reports says whether a cluster reports on its Works, heard from or not.
func (w *world) reports(index int, does bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.offline[w.clusters[index]] = !does
}

// withhold has no Work made from now on, or made again.
func (w *world) withhold(is bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.withheld = is
}

// make makes a Work.
func (w *world) make(ctx context.Context, work *workv1alpha1.Work) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.withheld {
		return errWithheld
	}
	return w.client.Create(ctx, work)
}

// errWithheld says that no Work is made.
var errWithheld = errors.New("no Work is made")

// heard has a Cluster say whether it is heard from.
func (w *world) heard(name string, online bool) {
	w.t.Helper()
	eventually(w.t, func(g Gomega) {
		c := &clusterv1alpha1.Cluster{}
		g.Expect(w.client.Get(w.t.Context(), client.ObjectKey{Name: name}, c)).To(Succeed())
		status, reason := metav1.ConditionTrue, clusterv1alpha1.ReasonClusterReady
		if !online {
			status, reason = metav1.ConditionUnknown, "ClusterStatusUnknown"
		}
		c.Status.Conditions = []metav1.Condition{{Type: clusterv1alpha1.ClusterReady, Status: status, Reason: reason, LastTransitionTime: metav1.Now()}}
		g.Expect(w.client.Status().Update(w.t.Context(), c)).To(Succeed())
	})
}

// deliver writes the Works that the rollout wants, and reports on them, until the test ends.
func (w *world) deliver() {
	ticker := time.NewTicker(30 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-w.t.Context().Done():
			return
		case <-ticker.C:
			for _, name := range w.clusters {
				_ = w.deliverTo(w.t.Context(), name) // the next round tries again
			}
		}
	}
}

func (w *world) deliverTo(ctx context.Context, name string) error {
	r := &fairleadv1alpha1.StagedRollout{}
	if err := w.client.Get(ctx, w.key(), r); err != nil {
		return err
	}
	err := w.deliverWork(ctx, name, r, w.key(), w.workName())
	if w.config != nil {
		key := types.NamespacedName{Namespace: w.namespace, Name: "config-configmap"}
		err = errors.Join(err, w.deliverWork(ctx, name, r, key, contract.WorkName("ConfigMap", w.namespace, "config")))
	}
	return err
}

// deliverWork writes the Work of a binding, that of the application or of what it needs, and reports on it.
func (w *world) deliverWork(ctx context.Context, name string, r *fairleadv1alpha1.StagedRollout, key types.NamespacedName, workName string) error {
	b := &workv1alpha2.ResourceBinding{}
	if err := w.client.Get(ctx, key, b); err != nil {
		return err
	}
	fares, content := "", "the same"
	work := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{
		Namespace: executionNamespace(name), Name: workName, Labels: maps.Clone(b.Labels),
		Annotations: map[string]string{contract.ResourceBindingNamespaceAnnotation: b.Namespace, contract.ResourceBindingNameAnnotation: b.Name},
	}}
	if key != w.key() {
		fares = "config "
		work.Annotations[contract.RevisionOfAnnotation] = w.key().String()
	}
	err := w.client.Get(ctx, client.ObjectKeyFromObject(work), work)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	have := revision.Parse(work.Annotations[contract.RevisionAnnotation])
	if want := revision.NewPlan(&r.Status).Wanted(name, have); want.Hash != have.Hash {
		if w.config == nil || key != w.key() {
			content = want.String()
		}
		w.mu.Lock()
		withheld, unconcerned := w.fares[fmt.Sprintf("%s%s %d", fares, name, want.Number)] == "withheld", w.unconcerned && err == nil
		w.mu.Unlock()
		if withheld {
			return errWithheld
		}
		work.Annotations[contract.RevisionAnnotation] = want.String()
		since := time.Now()
		if unconcerned {
			since = since.Add(-time.Hour)
		}
		work.Annotations[contract.RevisionSinceAnnotation] = since.UTC().Format(time.RFC3339)
		work.Spec.Workload.Manifests = []workv1alpha1.Manifest{{}}
		work.Spec.Workload.Manifests[0].Raw = []byte(fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"web"},"data":{"revision":%q}}`, content))
		have = want
		if err != nil {
			if err := w.make(ctx, work); err != nil {
				return err
			}
		} else if err := w.client.Update(ctx, work); err != nil {
			return err
		}
	} else if err != nil {
		return nil //nolint:nilerr // There is no Work, and is to be none.
	}
	w.mu.Lock()
	how, off := w.fares[fmt.Sprintf("%s%s %d", fares, name, have.Number)], w.offline[name]
	w.mu.Unlock()
	if off {
		return nil
	}
	health, applied, message := workv1alpha1.Healthy, metav1.ConditionTrue, "Manifest has been successfully applied"
	manifest := workv1alpha1.ManifestStatus{Identifier: workv1alpha1.ResourceIdentifier{Version: "v1", Kind: "ConfigMap", Name: "web"}}
	switch how {
	case "unhealthy":
		health = workv1alpha1.Unhealthy
	case "unmounted":
		health, manifest.Identifier.Kind = workv1alpha1.Unhealthy, "PersistentVolumeClaim"
		manifest.Status = &runtime.RawExtension{Raw: []byte(`{"phase":"Pending"}`)}
	case "refused":
		applied, message = metav1.ConditionFalse, `Failed to apply all manifests (0/1): Deployment "web": the member refuses it: Deployment.apps "web" is invalid: spec: no`
	}
	before := work.DeepCopy()
	if work.Status.ObservedGeneration == work.Generation && len(work.Status.Conditions) == 1 && work.Status.Conditions[0].Message == message &&
		work.Status.ManifestStatuses[0].Health == health {
		return nil
	}
	work.Status.ObservedGeneration = work.Generation
	work.Status.Conditions = []metav1.Condition{{
		Type: workv1alpha1.WorkApplied, Status: applied, Reason: "Applied", Message: message, ObservedGeneration: work.Generation, LastTransitionTime: metav1.Now(),
	}}
	manifest.Health = health
	work.Status.ManifestStatuses = []workv1alpha1.ManifestStatus{manifest}
	return w.client.Status().Patch(ctx, work, client.MergeFrom(before))
}
