package status

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/interpreter/native"
	"fairlead.dev/common/kube"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/cluster"
	"fairlead.dev/test/stagetest"
)

func TestMain(m *testing.M) { cluster.Main(m) }

// stage is a hub that runs only the status stage.
type stage struct {
	client    client.Client
	namespace string
	prefix    string
	seen      *recorder
	// interpreter aggregates; nil means that of the native kinds.
	interpreter interpreter.Interpreter
	// reconciles are those of the stage that was started last.
	reconciles *stagetest.Reconciles
}

// recorder records the stage's writes and events.
type recorder struct {
	events stagetest.Events

	mu     sync.Mutex
	writes []string
	reads  []string
}

// read counts the reads of a path.
func (r *recorder) read(path string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(slices.DeleteFunc(slices.Clone(r.reads), func(x string) bool { return x != path }))
}

// count counts the writes to paths with a suffix. The suffix begins with the namespace, because other tests have bindings, too.
func (r *recorder) count(suffix string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, write := range r.writes {
		if strings.HasSuffix(write, suffix) {
			n++
		}
	}
	return n
}

// note records a request.
func (r *recorder) note(req *http.Request) (*http.Response, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if req.Method == http.MethodGet {
		r.reads = append(r.reads, req.URL.Path)
	} else {
		r.writes = append(r.writes, req.Method+" "+req.URL.Path)
	}
	return nil, nil
}

// start runs the stage until the end of the test, with its own prefix of execution namespaces.
func start(t *testing.T) *stage {
	t.Helper()
	c := cluster.Shared(t, cluster.Options{Profile: cluster.Hub})
	s := &stage{client: c.Client(t), namespace: c.Namespace(t), seen: &recorder{}}
	s.prefix = s.namespace + "-es-"
	s.open(t, "edge-1", "edge-2", "edge-3")
	s.run(t, c.Config, "")
	return s
}

// open creates the execution namespaces of clusters.
func (s *stage) open(t *testing.T, clusters ...string) {
	t.Helper()
	for _, name := range clusters {
		s.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.prefix + name}})
	}
}

// run starts the stage with a program hash, even if it already runs.
func (s *stage) run(t *testing.T, to *rest.Config, program string) (stop func()) {
	t.Helper()
	g := NewWithT(t)
	rules := s.interpreter
	if rules == nil {
		rules = native.New()
	}
	s.reconciles = &stagetest.Reconciles{}
	mgr := stagetest.Manager(t, stagetest.Intercept(kube.BoundDepth(to), s.seen.note), func(o *manager.Options) {
		o.Cache.DefaultTransform = cache.TransformStripManagedFields()
	}, s.reconciles.Count)
	g.Expect(kube.Index(t.Context(), mgr.GetCache())).To(Succeed())
	g.Expect(Register(mgr, Deps{
		ExecutionNamespacePrefix: s.prefix,
		Interpreter:              rules,
		Events:                   s.seen.events.Record,
		Clock:                    clock.RealClock{},
		Program:                  program,
	})).To(Succeed())
	return stagetest.Run(t, mgr)
}

func (s *stage) create(t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, obj := range objects {
		NewWithT(t).Expect(s.client.Create(t.Context(), obj)).To(Succeed())
	}
}

func (s *stage) deployment(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	const name = "web"
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": name, "namespace": s.namespace},
		"spec": map[string]any{
			"replicas": int64(2),
			"selector": map[string]any{"matchLabels": map[string]any{"app": name}},
			"template": map[string]any{
				"metadata": map[string]any{"labels": map[string]any{"app": name}},
				"spec":     map[string]any{"containers": []any{map[string]any{"name": "c", "image": "nginx"}}},
			},
		},
	}}
	s.create(t, u)
	return u
}

// binding creates the binding of a template as the detector and the scheduler would.
func (s *stage) binding(t *testing.T, template client.Object, clusters ...string) *workv1alpha2.ResourceBinding {
	t.Helper()
	gvk := template.GetObjectKind().GroupVersionKind()
	b := &workv1alpha2.ResourceBinding{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.namespace, Name: contract.BindingName(gvk.Kind, template.GetName()),
			Labels: map[string]string{contract.ResourceBindingPermanentIDLabel: "id-" + s.namespace + template.GetName()},
		},
		Spec: workv1alpha2.ResourceBindingSpec{Resource: workv1alpha2.ObjectReference{
			APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind,
			Namespace: template.GetNamespace(), Name: template.GetName(), UID: template.GetUID(),
		}},
	}
	for _, c := range clusters {
		b.Spec.Clusters = append(b.Spec.Clusters, workv1alpha2.TargetCluster{Name: c, Replicas: 2})
	}
	s.create(t, b)
	return b
}

// work creates the Work of a binding for a member.
func (s *stage) work(t *testing.T, b kube.Binding, member string) *workv1alpha1.Work {
	t.Helper()
	w := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{
		Namespace: s.prefix + member, Name: b.GetName(), Labels: b.GetLabels(),
		Annotations: map[string]string{
			contract.ResourceBindingNamespaceAnnotation: b.GetNamespace(),
			contract.ResourceBindingNameAnnotation:      b.GetName(),
		},
	}}
	if b.GetNamespace() == "" {
		w.Annotations = map[string]string{contract.ClusterResourceBindingNameAnnotation: b.GetName()}
	}
	s.create(t, w)
	return w
}

// report writes the status of a Work as the agent would.
func (s *stage) report(t *testing.T, w *workv1alpha1.Work, b kube.Binding, refusal string, status string) {
	t.Helper()
	applied := metav1.Condition{
		Type: workv1alpha1.WorkApplied, Status: metav1.ConditionTrue, Reason: workv1alpha1.ReasonAppliedSuccessful,
		LastTransitionTime: metav1.Now(), ObservedGeneration: w.Generation,
	}
	if refusal != "" {
		applied.Status, applied.Reason, applied.Message = metav1.ConditionFalse, workv1alpha1.ReasonAppliedFailed, refusal
	}
	w.Status.Conditions = []metav1.Condition{applied}
	w.Status.ManifestStatuses = nil
	if status != "" {
		ref := b.BindingSpec().Resource
		gvk := kindOf(ref)
		w.Status.ManifestStatuses = []workv1alpha1.ManifestStatus{{
			Identifier: workv1alpha1.ResourceIdentifier{
				Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Namespace: ref.Namespace, Name: ref.Name,
			},
			Status: &runtime.RawExtension{Raw: []byte(status)}, Health: workv1alpha1.Healthy,
		}}
	}
	NewWithT(t).Expect(s.client.Status().Update(t.Context(), w)).To(Succeed())
}

// eventually waits until a condition holds for the status of a binding.
func (s *stage) eventually(t *testing.T, b kube.Binding, holds func(Gomega, *workv1alpha2.ResourceBindingStatus)) {
	t.Helper()
	NewWithT(t).Eventually(func(g Gomega) {
		g.Expect(s.client.Get(t.Context(), client.ObjectKeyFromObject(b), b)).To(Succeed())
		holds(g, b.BindingStatus())
	}, "1m", "50ms").Should(Succeed())
}

// awaitReady waits until the status of a template has that many ready replicas.
func (s *stage) awaitReady(t *testing.T, template client.Object, want int64) {
	t.Helper()
	NewWithT(t).Eventually(func(g Gomega) {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(template.GetObjectKind().GroupVersionKind())
		g.Expect(s.client.Get(t.Context(), client.ObjectKeyFromObject(template), u)).To(Succeed())
		n, _, err := unstructured.NestedInt64(u.Object, "status", "readyReplicas")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(n).To(Equal(want))
	}, "1m", "50ms").Should(Succeed())
}

func fullyApplied(want metav1.ConditionStatus) func(Gomega, *workv1alpha2.ResourceBindingStatus) {
	return func(g Gomega, status *workv1alpha2.ResourceBindingStatus) {
		c := meta.FindStatusCondition(status.Conditions, workv1alpha2.BindingFullyApplied)
		g.Expect(c).NotTo(BeNil())
		g.Expect(c.Status).To(Equal(want), c.Message)
	}
}

const one = `{"replicas":2,"readyReplicas":2,"updatedReplicas":2,"availableReplicas":2,"observedGeneration":1,"generation":1,"resourceTemplateGeneration":1}`

func TestReportsOfAllClustersAreOneWriteOfBindingAndTemplate(t *testing.T) {
	s := start(t)
	g := NewWithT(t)
	template := s.deployment(t)
	b := s.binding(t, template, "edge-1", "edge-2", "edge-3")
	works := []*workv1alpha1.Work{s.work(t, b, "edge-1"), s.work(t, b, "edge-2"), s.work(t, b, "edge-3")}
	for _, w := range works[1:] {
		s.report(t, w, b, "", one)
	}
	s.report(t, works[0], b, "", one)
	s.eventually(t, b, fullyApplied(metav1.ConditionTrue))
	g.Expect(b.Status.AggregatedStatus).To(HaveLen(3))
	g.Expect(b.Status.AggregatedStatus[0].ClusterName).To(Equal("edge-1"))
	g.Expect(b.Status.AggregatedStatus[0].Health).To(Equal(workv1alpha1.Healthy))
	g.Expect(string(b.Status.AggregatedStatus[0].Status.Raw)).To(MatchJSON(one))
	g.Expect(meta.FindStatusCondition(b.Status.Conditions, workv1alpha2.BindingFullyApplied).ObservedGeneration).To(Equal(b.Generation))

	// The template was written first, so it is up to date by now.
	g.Expect(s.client.Get(t.Context(), client.ObjectKeyFromObject(template), template)).To(Succeed())
	ready, _, err := unstructured.NestedInt64(template.Object, "status", "readyReplicas")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(ready).To(Equal(int64(6)))
	g.Expect(template.GetGeneration()).To(Equal(int64(1)))

	// Repeating the report changes nothing.
	patches, statuses := s.seen.count(s.namespace+"/resourcebindings/web-deployment/status"), s.seen.count(s.namespace+"/deployments/web/status")
	g.Expect(patches).To(BeNumerically("<=", 3))
	g.Expect(statuses).To(BeNumerically("<=", patches))
	works[0].Status.Conditions[0].Message = "said otherwise"
	g.Expect(s.client.Status().Update(t.Context(), works[0])).To(Succeed())
	s.settle(t)
	g.Expect(s.seen.count(s.namespace + "/resourcebindings/web-deployment/status")).To(Equal(patches))
	g.Expect(s.seen.count(s.namespace + "/deployments/web/status")).To(Equal(statuses))
}

// settle waits until another binding is reconciled, and with it everything enqueued before.
func (s *stage) settle(t *testing.T) {
	t.Helper()
	cm := &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, GenerateName: "canary-"},
	}
	s.create(t, cm)
	cm.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}
	b := s.binding(t, cm, "edge-1")
	s.report(t, s.work(t, b, "edge-1"), b, "", "")
	s.eventually(t, b, fullyApplied(metav1.ConditionTrue))
}

func TestARefusalIsToldOnceAndHeals(t *testing.T) {
	s := start(t)
	g := NewWithT(t)
	template := s.deployment(t)
	b := s.binding(t, template, "edge-1", "edge-2")
	good, bad := s.work(t, b, "edge-1"), s.work(t, b, "edge-2")
	s.report(t, good, b, "", one)
	s.report(t, bad, b, "Failed to apply all manifests (0/1): namespace is terminating", "")
	s.eventually(t, b, func(g Gomega, status *workv1alpha2.ResourceBindingStatus) {
		fullyApplied(metav1.ConditionFalse)(g, status)
		g.Expect(status.AggregatedStatus).To(HaveLen(2))
		g.Expect(status.AggregatedStatus[0].Applied).To(BeTrue())
		g.Expect(status.AggregatedStatus[1].AppliedMessage).To(ContainSubstring("terminating"))
	})
	g.Expect(meta.FindStatusCondition(b.Status.Conditions, workv1alpha2.BindingFullyApplied).Message).
		To(HavePrefix("Failed in 1 of 2 clusters: edge-2. edge-2 says: "))
	want := "Failed to create or update resource(" + s.namespace + "/web) in member cluster(edge-2): " +
		"Failed to apply all manifests (0/1): namespace is terminating"
	g.Eventually(func() []string { return s.seen.events.Notes(reasonSyncFailed) }, "1m", "50ms").Should(Equal([]string{want, want}))

	bad.Status.Conditions[0].ObservedGeneration++
	g.Expect(s.client.Status().Update(t.Context(), bad)).To(Succeed())
	s.settle(t)
	g.Expect(s.seen.events.Notes(reasonSyncFailed)).To(HaveLen(2))

	s.report(t, bad, b, "", one)
	s.eventually(t, b, fullyApplied(metav1.ConditionTrue))
	g.Expect(s.client.Get(t.Context(), client.ObjectKeyFromObject(template), template)).To(Succeed())
	ready, _, _ := unstructured.NestedInt64(template.Object, "status", "readyReplicas")
	g.Expect(ready).To(Equal(int64(4)))
}

func TestAWorkThatIsGoneNoLongerCounts(t *testing.T) {
	s := start(t)
	g := NewWithT(t)
	template := s.deployment(t)
	b := s.binding(t, template, "edge-1", "edge-2")
	left := s.work(t, b, "edge-2")
	s.report(t, s.work(t, b, "edge-1"), b, "", one)
	s.report(t, left, b, "", one)
	s.eventually(t, b, fullyApplied(metav1.ConditionTrue))

	g.Expect(s.client.Patch(t.Context(), b, client.RawPatch(types.MergePatchType,
		[]byte(`{"spec":{"clusters":[{"name":"edge-1","replicas":2}]}}`)))).To(Succeed())
	s.eventually(t, b, fullyApplied(metav1.ConditionFalse))
	g.Expect(s.client.Delete(t.Context(), left)).To(Succeed())
	s.eventually(t, b, fullyApplied(metav1.ConditionTrue))
	g.Expect(b.Status.AggregatedStatus).To(HaveLen(1))
	g.Expect(s.client.Get(t.Context(), client.ObjectKeyFromObject(template), template)).To(Succeed())
	ready, _, _ := unstructured.NestedInt64(template.Object, "status", "readyReplicas")
	g.Expect(ready).To(Equal(int64(2)))
}

func TestAClusterScopedBindingIsNoDifferent(t *testing.T) {
	s := start(t)
	b := &workv1alpha2.ClusterResourceBinding{
		ObjectMeta: metav1.ObjectMeta{
			Name:   s.namespace + "-namespace",
			Labels: map[string]string{contract.ClusterResourceBindingPermanentIDLabel: "id-" + s.namespace},
		},
		Spec: workv1alpha2.ResourceBindingSpec{
			Resource: workv1alpha2.ObjectReference{APIVersion: "v1", Kind: "Namespace", Name: s.namespace},
			Clusters: []workv1alpha2.TargetCluster{{Name: "edge-1"}},
		},
	}
	s.create(t, b)
	s.report(t, s.work(t, b, "edge-1"), b, "", `{"phase":"Active"}`)
	s.eventually(t, b, fullyApplied(metav1.ConditionTrue))
	NewWithT(t).Expect(string(b.Status.AggregatedStatus[0].Status.Raw)).To(MatchJSON(`{"phase":"Active"}`))
}

func TestConditionsOfOthersStay(t *testing.T) {
	s := start(t)
	g := NewWithT(t)
	template := s.deployment(t)
	b := s.binding(t, template, "edge-1")
	g.Expect(s.client.Status().Patch(t.Context(), b, client.RawPatch(types.MergePatchType, []byte(
		`{"status":{"schedulerObservedGeneration":1,"conditions":[{"type":"Scheduled","status":"True","reason":"Success",`+
			`"message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`)))).To(Succeed())
	s.report(t, s.work(t, b, "edge-1"), b, "", one)
	s.eventually(t, b, fullyApplied(metav1.ConditionTrue))
	g.Expect(meta.IsStatusConditionTrue(b.Status.Conditions, workv1alpha2.BindingScheduled)).To(BeTrue())
	g.Expect(b.Status.SchedulerObservedGeneration).To(Equal(int64(1)))
}

func TestATemplateThatWasRecreatedIsLeftAlone(t *testing.T) {
	s := start(t)
	g := NewWithT(t)
	template := s.deployment(t)
	template.SetUID("of the one before")
	b := s.binding(t, template, "edge-1")
	s.report(t, s.work(t, b, "edge-1"), b, "", one)
	s.eventually(t, b, fullyApplied(metav1.ConditionTrue))
	g.Expect(s.seen.count(s.namespace + "/deployments/web/status")).To(BeZero())
}

func TestATemplateThatTheFormerHubLeftBehindIsWritten(t *testing.T) {
	s := start(t)
	g := NewWithT(t)
	template := s.deployment(t)
	b := s.binding(t, template, "edge-1")
	s.report(t, s.work(t, b, "edge-1"), b, "", one)
	s.eventually(t, b, fullyApplied(metav1.ConditionTrue))

	// Simulate a hub that was killed before it wrote the template.
	g.Expect(s.client.Status().Patch(t.Context(), template, client.RawPatch(types.MergePatchType,
		[]byte(`{"status":null}`)))).To(Succeed())
	s.run(t, cluster.Shared(t, cluster.Options{Profile: cluster.Hub}).Config, "")
	g.Eventually(func(g Gomega) {
		g.Expect(s.client.Get(t.Context(), client.ObjectKeyFromObject(template), template)).To(Succeed())
		ready, _, err := unstructured.NestedInt64(template.Object, "status", "readyReplicas")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(ready).To(Equal(int64(2)))
	}, "1m", "50ms").Should(Succeed())
}

func TestATemplateInAnotherNamespaceIsLeftAlone(t *testing.T) {
	s := start(t)
	g := NewWithT(t)
	template := s.deployment(t)
	away := *s
	away.namespace = cluster.Shared(t, cluster.Options{Profile: cluster.Hub}).Namespace(t)
	b := away.binding(t, template, "edge-1")
	s.report(t, s.work(t, b, "edge-1"), b, "", one)
	s.eventually(t, b, fullyApplied(metav1.ConditionTrue))
	g.Expect(s.seen.count(s.namespace + "/deployments/web/status")).To(BeZero())
}

func TestTheReportOfASilentClusterIsShownAsStale(t *testing.T) {
	s := start(t)
	g := NewWithT(t)
	template := s.deployment(t)
	b := s.binding(t, template, "edge-2", "edge-1")
	silent := builder.MakeCluster("edge-1").Obj()
	g.Expect(s.client.Create(t.Context(), silent)).To(Succeed())
	t.Cleanup(func() { g.Expect(s.client.Delete(context.Background(), silent)).To(Succeed()) })
	s.report(t, s.work(t, b, "edge-2"), b, "", one)
	s.report(t, s.work(t, b, "edge-1"), b, "", one)
	s.eventually(t, b, fullyApplied(metav1.ConditionTrue))
	since := metav1.NewTime(time.Now().Truncate(time.Second))
	ready := func(status metav1.ConditionStatus, reason string) {
		c := builder.MakeCluster("edge-1").Obj()
		stagetest.ChangeStatus(t, s.client, c, func() {
			c.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: status, Reason: reason, LastTransitionTime: since}}
		})
	}
	current := func(want string) {
		g.Eventually(func(g Gomega) {
			g.Expect(s.client.Get(t.Context(), client.ObjectKeyFromObject(template), template)).To(Succeed())
			conditions, _, err := unstructured.NestedSlice(template.Object, "status", "conditions")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(conditions).To(ContainElement(And(HaveKeyWithValue("type", "fairlead.dev/Current"), HaveKeyWithValue("status", want))))
		}).WithTimeout(time.Minute).Should(Succeed())
	}
	current("True")
	ready(metav1.ConditionUnknown, "ClusterStatusUnknown")
	s.eventually(t, b, func(g Gomega, status *workv1alpha2.ResourceBindingStatus) {
		g.Expect(meta.IsStatusConditionTrue(status.Conditions, workv1alpha2.BindingStale)).To(BeTrue())
		g.Expect(status.AggregatedStatus[0].StaleSince.Equal(&since)).To(BeTrue())
		g.Expect(status.AggregatedStatus[0].Health).To(Equal(workv1alpha1.Healthy), "what it said last is shown")
		g.Expect(status.AggregatedStatus[1].StaleSince).To(BeNil())
	})
	current("False")
	ready(metav1.ConditionTrue, "ClusterReady")
	s.eventually(t, b, func(g Gomega, status *workv1alpha2.ResourceBindingStatus) {
		g.Expect(meta.FindStatusCondition(status.Conditions, workv1alpha2.BindingStale)).To(BeNil())
		g.Expect(status.AggregatedStatus[0].StaleSince).To(BeNil())
	})
	current("True")
}
