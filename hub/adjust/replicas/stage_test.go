package replicas_test

import (
	"fmt"
	"sync"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/interpreter/lua/vm"
	"fairlead.dev/common/interpreter/store"
	"fairlead.dev/common/kube/watchset"
	"fairlead.dev/hub/adjust/replicas"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/cluster"
	"fairlead.dev/test/stagetest"
)

func TestMain(m *testing.M) { cluster.Main(m) }

// world is a hub's API with only this stage running.
type world struct {
	hub       client.Client
	namespace string
	kinds     *ruled

	events stagetest.Events
}

func start(t *testing.T) *world {
	t.Helper()
	g := NewWithT(t)
	hub := cluster.Shared(t, cluster.Options{Profile: cluster.Hub})
	w := &world{hub: hub.Client(t), namespace: hub.Namespace(t)}
	kinds, err := store.BuiltIn(vm.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	w.kinds = &ruled{Interpreter: kinds}
	stagetest.Start(t, hub.Config, func(mgr manager.Manager) error {
		return replicas.Register(mgr, replicas.Deps{Interpreter: w.kinds, Informers: watchset.NewMetadataInformers(mgr.GetCache()), Events: w.events.Record})
	})
	return w
}

// ruled is an interpreter that can be given a retention rule for a kind.
type ruled struct {
	interpreter.Interpreter

	mu   sync.Mutex
	kind schema.GroupVersionKind
	tell func(affects func(schema.GroupVersionKind) bool)
}

// set names the kind that has a rule, and notifies subscribers.
func (r *ruled) set(kind schema.GroupVersionKind) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.kind
	r.kind = kind
	r.tell(func(k schema.GroupVersionKind) bool { return k == before || k == kind })
}

func (*ruled) Version(schema.GroupVersionKind) string { return "" }

func (*ruled) AsksOthers(schema.GroupVersionKind, interpreter.Operation) bool { return false }

func (r *ruled) Subscribe(tell func(affects func(schema.GroupVersionKind) bool)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tell = tell
}

func (r *ruled) Has(kind schema.GroupVersionKind, op interpreter.Operation) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return kind == r.kind && op == interpreter.Retain || r.Interpreter.Has(kind, op)
}

// told returns the events about an object: reason and note.
func (w *world) told(kind, name string) []string {
	var out []string
	for _, e := range w.events.All() {
		if ref, ok := e.Regarding.(*corev1.ObjectReference); ok && ref.Kind == kind && ref.Name == name {
			out = append(out, e.Reason+": "+e.Note)
		}
	}
	return out
}

// bind creates the binding that the detector would create for a template, or updates an existing one as the detector
// does when the template changes.
func (w *world) bind(t *testing.T, template *unstructured.Unstructured) *workv1alpha2.ResourceBinding {
	t.Helper()
	g := NewWithT(t)
	b := &workv1alpha2.ResourceBinding{}
	key := client.ObjectKey{Namespace: w.namespace, Name: contract.BindingName(template.GetKind(), template.GetName())}
	ref := workv1alpha2.ObjectReference{
		APIVersion: template.GetAPIVersion(), Kind: template.GetKind(), Namespace: w.namespace, Name: template.GetName(),
		UID: template.GetUID(), ResourceVersion: template.GetResourceVersion(),
	}
	if w.hub.Get(t.Context(), key, b) != nil {
		b.Namespace, b.Name, b.Spec.Resource = key.Namespace, key.Name, ref
		g.Expect(w.hub.Create(t.Context(), b)).To(Succeed())
		return b
	}
	stagetest.Change(t, w.hub, b, func() { b.Spec.Resource = ref })
	return b
}

func (w *world) create(t *testing.T, template *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	NewWithT(t).Expect(w.hub.Create(t.Context(), template)).To(Succeed())
	return template
}

func (w *world) autoscaler(t *testing.T, name, kind, apiVersion, scales string) *unstructured.Unstructured {
	t.Helper()
	return w.create(t, builder.MakeTemplate("autoscaling/v2", "HorizontalPodAutoscaler", w.namespace, name).
		Set(int64(9), "spec", "maxReplicas").
		Set(map[string]any{"apiVersion": apiVersion, "kind": kind, "name": scales}, "spec", "scaleTargetRef").Obj())
}

// change updates a template, retrying on conflicts.
func (w *world) change(t *testing.T, obj *unstructured.Unstructured, change func()) {
	t.Helper()
	stagetest.Change(t, w.hub, obj, change)
}

// label returns a function that reads the template's label.
func (w *world) label(t *testing.T, obj *unstructured.Unstructured) func() string {
	t.Helper()
	return func() string {
		if err := w.hub.Get(t.Context(), client.ObjectKeyFromObject(obj), obj); err != nil {
			return err.Error()
		}
		return obj.GetLabels()[contract.RetainReplicasLabel]
	}
}

func TestStage(t *testing.T) {
	t.Parallel()
	w := start(t)
	t.Run("what an autoscaler scales is marked", w.marks)
	t.Run("what an author says of the label stays", w.leavesAuthorsAlone)
	t.Run("the label of an object that was made anew stays", w.leavesTheLabelOfAnother)
	t.Run("what an older hub marked is unmarked", w.unmarksByOlderRecords)
	t.Run("a kind that keeps no replicas is told", w.tellsWhatCannotBeKept)
	t.Run("a rule may be about another version", w.marksByTheVersionOfTheTemplate)
	t.Run("what is in no namespace is not the tenant's", w.leavesAloneWhatIsInNoNamespace)
	t.Run("replicas of members are written back", w.writesBack)
}

func (w *world) marks(t *testing.T) {
	g := NewWithT(t)
	web, api := w.create(t, builder.MakeDeployment(w.namespace, "web").Obj()), builder.MakeDeployment(w.namespace, "api").Obj()
	scaler := w.autoscaler(t, "scaler", "Deployment", "apps/v1", "web")
	b := w.bind(t, scaler)
	g.Eventually(w.label(t, web), stagetest.Timeout, stagetest.Poll).Should(Equal("true"))
	g.Expect(w.hub.Get(t.Context(), client.ObjectKeyFromObject(b), b)).To(Succeed())
	g.Expect(b.Finalizers).To(ContainElement(contract.ReplicasFinalizer), "the mark is to be taken off before it goes")
	g.Eventually(func() []string { return w.told("Deployment", "web") }, stagetest.Timeout, stagetest.Poll).Should(HaveExactElements(HavePrefix("ReplicasRetained: ")))

	// Somebody removes the label.
	w.bind(t, web)
	w.change(t, web, func() { web.SetLabels(nil) })
	w.bind(t, web)
	g.Eventually(w.label(t, web), stagetest.Timeout, stagetest.Poll).Should(Equal("true"))

	// The autoscaler gets another target, created later.
	w.change(t, scaler, func() {
		g.Expect(unstructured.SetNestedField(scaler.Object, "api", "spec", "scaleTargetRef", "name")).To(Succeed())
	})
	w.bind(t, scaler)
	g.Eventually(w.label(t, web), stagetest.Timeout, stagetest.Poll).Should(BeEmpty())
	w.create(t, api)
	w.bind(t, api)
	g.Eventually(w.label(t, api), stagetest.Timeout, stagetest.Poll).Should(Equal("true"))

	// The binding is deleted.
	g.Expect(w.hub.Delete(t.Context(), b)).To(Succeed())
	g.Eventually(w.label(t, api), stagetest.Timeout, stagetest.Poll).Should(BeEmpty())
	g.Eventually(func() error { return w.hub.Get(t.Context(), client.ObjectKeyFromObject(b), b) }, stagetest.Timeout, stagetest.Poll).ShouldNot(Succeed())
	g.Expect(w.told("HorizontalPodAutoscaler", "scaler")).To(BeEmpty())
}

func (w *world) leavesAuthorsAlone(t *testing.T) {
	g := NewWithT(t)
	yes := w.create(t, builder.MakeDeployment(w.namespace, "yes").Label(contract.RetainReplicasLabel, "true").Obj())
	no := w.create(t, builder.MakeDeployment(w.namespace, "no").Label(contract.RetainReplicasLabel, "false").Obj())
	for _, obj := range []*unstructured.Unstructured{yes, no} {
		said := obj.GetLabels()[contract.RetainReplicasLabel]
		b := w.bind(t, w.autoscaler(t, obj.GetName(), "Deployment", "apps/v1", obj.GetName()))
		g.Consistently(w.label(t, obj), stagetest.Quiet, stagetest.Poll).Should(Equal(said))
		g.Expect(w.hub.Delete(t.Context(), b)).To(Succeed())
		g.Consistently(w.label(t, obj), stagetest.Quiet, stagetest.Poll).Should(Equal(said))
	}
}

// Somebody deletes the marked object and recreates it with a label of their own.
func (w *world) leavesTheLabelOfAnother(t *testing.T) {
	g := NewWithT(t)
	anew := func() *builder.Template { return builder.MakeDeployment(w.namespace, "anew") }
	first := w.create(t, anew().Obj())
	b := w.bind(t, w.autoscaler(t, "anew", "Deployment", "apps/v1", "anew"))
	w.bind(t, first)
	g.Eventually(w.label(t, first), stagetest.Timeout, stagetest.Poll).Should(Equal("true"))
	g.Expect(w.hub.Delete(t.Context(), first)).To(Succeed())
	second := w.create(t, anew().Label(contract.RetainReplicasLabel, "true").Obj())
	w.bind(t, second)
	g.Eventually(func(g Gomega) {
		g.Expect(w.hub.Get(t.Context(), client.ObjectKeyFromObject(b), b)).To(Succeed())
		g.Expect(b.Annotations).NotTo(HaveKey(contract.ScaleTargetAnnotation))
		g.Expect(b.Finalizers).NotTo(ContainElement(contract.ReplicasFinalizer))
	}, stagetest.Timeout, stagetest.Poll).Should(Succeed())
	g.Expect(w.hub.Delete(t.Context(), b)).To(Succeed())
	g.Consistently(w.label(t, second), stagetest.Quiet, stagetest.Poll).Should(Equal("true"))
	g.Expect(w.told("Deployment", "anew")).To(HaveExactElements(HavePrefix("ReplicasRetained: ")))

	// A recreated object without a label is marked like the first.
	b = w.bind(t, w.autoscaler(t, "again", "Deployment", "apps/v1", "again"))
	for range 2 {
		obj := w.create(t, builder.MakeDeployment(w.namespace, "again").Obj())
		w.bind(t, obj)
		g.Eventually(w.label(t, obj), stagetest.Timeout, stagetest.Poll).Should(Equal("true"))
		g.Eventually(func(g Gomega) {
			g.Expect(w.hub.Get(t.Context(), client.ObjectKeyFromObject(b), b)).To(Succeed())
			g.Expect(b.Annotations[contract.ScaleTargetAnnotation]).To(ContainSubstring(string(obj.GetUID())))
		}, stagetest.Timeout, stagetest.Poll).Should(Succeed())
		g.Expect(w.hub.Delete(t.Context(), obj)).To(Succeed())
	}
}

// Hubs of an earlier version did not record which object they marked.
func (w *world) unmarksByOlderRecords(t *testing.T) {
	g := NewWithT(t)
	for owner, want := range map[string]string{contract.FieldManagerReplicas: "", "kubectl": "true"} {
		obj := builder.MakeDeployment(w.namespace, "older-"+owner).Label(contract.RetainReplicasLabel, "true").Obj()
		g.Expect(w.hub.Create(t.Context(), obj, client.FieldOwner(owner))).To(Succeed())
		b := w.recorded(t, w.autoscaler(t, obj.GetName(), "Deployment", "apps/v1", obj.GetName()), "apps/v1", "Deployment")
		g.Eventually(func(g Gomega) {
			g.Expect(w.hub.Get(t.Context(), client.ObjectKeyFromObject(b), b)).To(Succeed())
			record := ContainSubstring(string(obj.GetUID()))
			if want != "" {
				record = BeEmpty()
			}
			g.Expect(b.Annotations[contract.ScaleTargetAnnotation]).To(record)
		}, stagetest.Timeout, stagetest.Poll).Should(Succeed())
		g.Expect(w.hub.Delete(t.Context(), b)).To(Succeed())
		g.Eventually(func() error { return w.hub.Get(t.Context(), client.ObjectKeyFromObject(b), b) }, stagetest.Timeout, stagetest.Poll).ShouldNot(Succeed())
		g.Expect(w.label(t, obj)()).To(Equal(want))
	}
}

// recorded creates the binding of an autoscaler as left by a hub of an earlier version that had marked an object of the
// same name.
func (w *world) recorded(t *testing.T, scaler *unstructured.Unstructured, apiVersion, kind string) *workv1alpha2.ResourceBinding {
	t.Helper()
	b := &workv1alpha2.ResourceBinding{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace, Name: contract.BindingName(scaler.GetKind(), scaler.GetName()), Finalizers: []string{contract.ReplicasFinalizer},
			Annotations: map[string]string{contract.ScaleTargetAnnotation: fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"name":%q}`, apiVersion, kind, scaler.GetName())},
		},
		Spec: workv1alpha2.ResourceBindingSpec{Resource: workv1alpha2.ObjectReference{
			APIVersion: scaler.GetAPIVersion(), Kind: scaler.GetKind(), Namespace: w.namespace, Name: scaler.GetName(), UID: scaler.GetUID(),
		}},
	}
	NewWithT(t).Expect(w.hub.Create(t.Context(), b)).To(Succeed())
	return b
}

func (w *world) tellsWhatCannotBeKept(t *testing.T) {
	g := NewWithT(t)
	obj := w.create(t, builder.MakeTemplate("apps/v1", "DaemonSet", w.namespace, "odd").
		Set(map[string]any{"app": "odd"}, "spec", "selector", "matchLabels").
		Set(map[string]any{"app": "odd"}, "spec", "template", "metadata", "labels").
		Image("nginx:1.27").Obj())
	w.bind(t, w.autoscaler(t, "odd", "DaemonSet", "apps/v1", "odd"))
	g.Eventually(func() []string { return w.told("HorizontalPodAutoscaler", "odd") }, stagetest.Timeout, stagetest.Poll).Should(
		HaveExactElements(HavePrefix("ReplicasCannotBeRetained: The hub has no rule for keeping the replicas of DaemonSet odd")))
	g.Expect(w.label(t, obj)()).To(BeEmpty())

	// Somebody adds a retention rule for the kind, and removes it again.
	w.kinds.set(obj.GroupVersionKind())
	g.Eventually(w.label(t, obj), stagetest.Timeout, stagetest.Poll).Should(Equal("true"))
	w.kinds.set(schema.GroupVersionKind{})
	g.Eventually(w.label(t, obj), stagetest.Timeout, stagetest.Poll).Should(BeEmpty())
}

// An autoscaler may name its target by another version than the propagated one, by which the agents know what to
// retain.
func (w *world) marksByTheVersionOfTheTemplate(t *testing.T) {
	g := NewWithT(t)
	obj := w.autoscaler(t, "versioned", "Deployment", "apps/v1", "nothing") // the hub serves this kind in two versions
	w.bind(t, obj)
	w.bind(t, w.autoscaler(t, "by-another", obj.GetKind(), "autoscaling/v1", "versioned"))
	g.Eventually(func() []string { return w.told("HorizontalPodAutoscaler", "by-another") }, stagetest.Timeout, stagetest.Poll).Should(HaveLen(1))
	w.kinds.set(obj.GroupVersionKind())
	g.Eventually(w.label(t, obj), stagetest.Timeout, stagetest.Poll).Should(Equal("true"))
	w.kinds.set(schema.GroupVersionKind{})
	g.Eventually(w.label(t, obj), stagetest.Timeout, stagetest.Poll).Should(BeEmpty())
}

// A client omits the namespace for a cluster-scoped kind, so whoever may write an autoscaler in one namespace could
// make the hub change any cluster-scoped object of that name.
func (w *world) leavesAloneWhatIsInNoNamespace(t *testing.T) {
	g := NewWithT(t)
	for _, marked := range []bool{false, true} {
		name := fmt.Sprintf("%s-%t", w.namespace, marked)
		edge := builder.MakeCluster(name).Obj()
		if marked {
			edge.Labels = map[string]string{contract.RetainReplicasLabel: "true"}
		}
		g.Expect(w.hub.Create(t.Context(), edge, client.FieldOwner(contract.FieldManagerReplicas))).To(Succeed())
		version := edge.ResourceVersion
		scaler := w.autoscaler(t, name, "Cluster", "cluster.karmada.io/v1alpha1", name)
		if marked { // by a hub of an earlier version
			w.recorded(t, scaler, "cluster.karmada.io/v1alpha1", "Cluster")
		} else {
			w.bind(t, scaler)
		}
		g.Eventually(func() []string { return w.told("HorizontalPodAutoscaler", name) }, stagetest.Timeout, stagetest.Poll).Should(
			HaveExactElements(And(HavePrefix("ReplicasCannotBeRetained: spec.scaleTargetRef: kind Cluster is not namespaced"), ContainSubstring(w.namespace))))
		g.Eventually(func(g Gomega) {
			b := &workv1alpha2.ResourceBinding{}
			g.Expect(w.hub.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: contract.BindingName(scaler.GetKind(), name)}, b)).To(Succeed())
			g.Expect(b.Finalizers).NotTo(ContainElement(contract.ReplicasFinalizer))
			g.Expect(w.hub.Get(t.Context(), client.ObjectKeyFromObject(edge), edge)).To(Succeed())
			g.Expect(edge.Labels).NotTo(HaveKey(contract.RetainReplicasLabel))
		}, stagetest.Timeout, stagetest.Poll).Should(Succeed())
		if !marked {
			g.Consistently(func() (string, error) {
				return edge.ResourceVersion, w.hub.Get(t.Context(), client.ObjectKeyFromObject(edge), edge)
			}, stagetest.Quiet, stagetest.Poll).Should(Equal(version))
		}
	}
}

func (w *world) writesBack(t *testing.T) {
	g := NewWithT(t)
	marked := w.create(t, builder.MakeDeployment(w.namespace, "marked").Replicas(4).Label(contract.RetainReplicasLabel, "true").Obj())
	plain := w.create(t, builder.MakeDeployment(w.namespace, "plain").Replicas(4).Obj())
	copied := w.create(t, builder.MakeDeployment(w.namespace, "copied").Replicas(4).Label(contract.RetainReplicasLabel, "true").Obj())
	lied := w.create(t, builder.MakeDeployment(w.namespace, "lied").Replicas(4).Label(contract.RetainReplicasLabel, "true").Obj())
	for _, obj := range []*unstructured.Unstructured{marked, plain, copied, lied} {
		b := w.bind(t, obj)
		b.Spec.Replicas = 4
		b.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: "edge-1", Replicas: 2}, {Name: "edge-2", Replicas: 2}}
		b.Spec.Placement = &policyv1alpha1.Placement{ReplicaScheduling: &policyv1alpha1.ReplicaSchedulingStrategy{
			ReplicaSchedulingType: policyv1alpha1.Divided, ReplicaDivisionPreference: policyv1alpha1.Weighted,
		}}
		if obj == copied {
			b.Spec.Placement.ReplicaScheduling.ReplicaSchedulingType = policyv1alpha1.Duplicated
		}
		g.Expect(w.hub.Update(t.Context(), b)).To(Succeed())
		there := `{"replicas": 5, "updatedReplicas": 5}`
		if obj == lied {
			there = `{"replicas": 2147483647, "updatedReplicas": 2147483647}`
		}
		w.report(t, b, `{"replicas": 2, "updatedReplicas": 2}`, there)
	}
	scaledTo := func(obj *unstructured.Unstructured) func() int64 {
		return func() int64 {
			g.Expect(w.hub.Get(t.Context(), client.ObjectKeyFromObject(obj), obj)).To(Succeed())
			n, _, err := unstructured.NestedInt64(obj.Object, "spec", "replicas")
			g.Expect(err).NotTo(HaveOccurred())
			return n
		}
	}
	g.Eventually(scaledTo(marked), stagetest.Timeout, stagetest.Poll).Should(Equal(int64(7)))
	g.Eventually(func() []string { return w.told("Deployment", "marked") }, stagetest.Timeout, stagetest.Poll).Should(
		HaveExactElements("ReplicasTakenOver: Took over 7 replicas from the clusters, instead of 4: {edge-1:2, edge-2:5}"))
	g.Eventually(scaledTo(lied), stagetest.Timeout, stagetest.Poll).Should(Equal(int64(16)))
	g.Eventually(func() []string { return w.told("Deployment", "lied") }, stagetest.Timeout, stagetest.Poll).Should(
		ContainElement(And(HavePrefix("ReplicasNotBelieved: "), ContainSubstring("{edge-2:2147483647}"))))
	g.Expect(scaledTo(plain)()).To(Equal(int64(4)), "the template has the say")
	g.Expect(scaledTo(copied)()).To(Equal(int64(4)), "each cluster has what the template says")

	// The binding is stale: somebody scales the template, and the clusters report again.
	w.change(t, marked, func() {
		g.Expect(unstructured.SetNestedField(marked.Object, int64(9), "spec", "replicas")).To(Succeed())
	})
	w.report(t, w.bind(t, marked), `{"replicas": 2, "updatedReplicas": 2}`, `{"replicas": 6, "updatedReplicas": 6}`)
	g.Consistently(scaledTo(marked), stagetest.Quiet, stagetest.Poll).Should(Equal(int64(9)))
}

// report writes what the scheduler and the clusters would write.
func (w *world) report(t *testing.T, b *workv1alpha2.ResourceBinding, statuses ...string) {
	t.Helper()
	stagetest.ChangeStatus(t, w.hub, b, func() {
		b.Status.SchedulerObservedGeneration, b.Status.AggregatedStatus = b.Generation, nil
		for i, status := range statuses {
			b.Status.AggregatedStatus = append(b.Status.AggregatedStatus, workv1alpha2.AggregatedStatusItem{
				ClusterName: b.Spec.Clusters[i].Name, Status: &runtime.RawExtension{Raw: []byte(status)}, Applied: true, Health: workv1alpha1.Healthy,
			})
		}
	})
}

func TestRegisterSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	NewWithT(t).Expect(replicas.Register(nil, replicas.Deps{})).NotTo(Succeed())
}
