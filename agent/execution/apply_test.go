package execution_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
)

func TestAnObjectIsAppliedWithTheMarksOfItsWork(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t)
	manifest := w.configMap("settings", map[string]string{"a": "1"})
	manifest.UID, manifest.ResourceVersion, manifest.Finalizers = "not-of-this-cluster", "7", []string{"hub.example.com/mine"}
	manifest.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "other", UID: "x"}}
	work := w.work(t, "settings", manifest)
	w.isApplied(t, work)

	cm := w.get(g, "settings")
	g.Expect(cm.Data).To(Equal(map[string]string{"a": "1"}))
	g.Expect(cm.Labels).To(HaveKeyWithValue(contract.ManagedLabel, contract.LabelTrue))
	g.Expect(cm.Annotations).To(HaveKeyWithValue(contract.WorkNamespaceAnnotation, w.works))
	g.Expect(cm.Annotations).To(HaveKeyWithValue(contract.WorkNameAnnotation, "settings"))
	g.Expect(cm.Finalizers).To(BeEmpty())
	g.Expect(cm.OwnerReferences).To(BeEmpty())
	g.Expect(cm.ManagedFields).To(HaveLen(1))
	g.Expect(cm.ManagedFields[0].Manager).To(Equal(contract.FieldManagerAgent))
	g.Expect(cm.ManagedFields[0].Operation).To(Equal(metav1.ManagedFieldsOperationApply))
}

func TestDroppedFieldsDisappearAndForeignFieldsStay(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t)
	work := w.work(t, "settings", w.configMap("settings", map[string]string{"a": "1", "b": "2"}))
	w.isApplied(t, work)

	cm := w.get(g, "settings")
	before := cm.DeepCopy()
	cm.Data["theirs"] = "3"
	cm.Labels["theirs"] = "yes"
	g.Expect(w.client.Patch(t.Context(), cm, client.MergeFrom(before))).To(Succeed())
	w.change(t, work, func(work *workv1alpha1.Work) {
		work.Spec.Workload.Manifests = raw(t, w.configMap("settings", map[string]string{"a": "9"}))
	})
	w.isApplied(t, work)

	cm = w.get(g, "settings")
	g.Expect(cm.Data).To(Equal(map[string]string{"a": "9", "theirs": "3"}))
	g.Expect(cm.Labels).To(HaveKeyWithValue("theirs", "yes"))
}

func TestDriftIsPutBack(t *testing.T) {
	t.Parallel()
	cases := map[string]func(*corev1.ConfigMap){
		"of a value":               func(cm *corev1.ConfigMap) { cm.Data["a"] = "changed" },
		"of a value that vanished": func(cm *corev1.ConfigMap) { delete(cm.Data, "a") },
		"of the managed label":     func(cm *corev1.ConfigMap) { delete(cm.Labels, contract.ManagedLabel) },
		"of the Work's name":       func(cm *corev1.ConfigMap) { delete(cm.Annotations, contract.WorkNameAnnotation) },
		"of both marks":            func(cm *corev1.ConfigMap) { cm.Labels, cm.Annotations["kept"] = nil, "yes" },
	}
	w := newWorld(t)
	i := 0
	for name, spoil := range cases {
		i++
		object := "settings-" + string(rune('a'+i))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			work := w.work(t, object, w.configMap(object, map[string]string{"a": "1"}))
			w.isApplied(t, work)
			cm := w.get(g, object)
			before := cm.DeepCopy()
			spoil(cm)
			g.Expect(w.client.Patch(t.Context(), cm, client.MergeFrom(before))).To(Succeed())
			g.Eventually(func(g Gomega) {
				cm := w.get(g, object)
				g.Expect(cm.Data).To(Equal(map[string]string{"a": "1"}))
				g.Expect(cm.Labels).To(HaveKeyWithValue(contract.ManagedLabel, contract.LabelTrue))
				g.Expect(cm.Annotations).To(HaveKeyWithValue(contract.WorkNameAnnotation, object))
			}).WithTimeout(waitTimeout).Should(Succeed())
		})
	}
}

func TestAServiceKeepsItsAddressWhenItsTemplateChanges(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t)
	manifest := &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{Namespace: w.member, Name: "web"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80, Protocol: corev1.ProtocolTCP}}},
	}
	work := w.work(t, "web", manifest)
	w.isApplied(t, work)
	read := func(g Gomega) *corev1.Service {
		out := &corev1.Service{}
		g.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(manifest), out)).To(Succeed())
		return out
	}
	first := read(g)
	g.Expect(first.Spec.ClusterIP).NotTo(BeEmpty())

	// Another client writes the Service concurrently: the retained fields must be those of the new version.
	before := first.DeepCopy()
	first.Labels["theirs"] = "yes"
	g.Expect(w.client.Patch(t.Context(), first, client.MergeFrom(before))).To(Succeed())
	manifest.Spec.Ports[0].Port = 8080
	w.change(t, work, func(work *workv1alpha1.Work) { work.Spec.Workload.Manifests = raw(t, manifest) })
	w.isApplied(t, work)
	got := read(g)
	g.Expect(got.Spec.ClusterIP).To(Equal(first.Spec.ClusterIP))
	g.Expect(got.Spec.Ports).To(HaveLen(1))
	g.Expect(got.Spec.Ports[0].Port).To(Equal(int32(8080)))
	g.Expect(got.Labels).To(HaveKeyWithValue("theirs", "yes"))
}

func TestSomebodyWhoChangesItBackForEverIsNotFoughtWithRequests(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t)
	work := w.work(t, "settings", w.configMap("settings", map[string]string{"a": "1"}))
	w.isApplied(t, work)
	// The other client goes on until the fight is reported.
	g.Eventually(func(g Gomega) {
		cm := w.get(g, "settings")
		before := cm.DeepCopy()
		cm.Data["a"] = "theirs"
		g.Expect(w.client.Patch(t.Context(), cm, client.MergeFrom(before))).To(Succeed())
		g.Expect(w.reports.applied(work).Message).To(ContainSubstring("somebody in the member keeps changing it"))
	}).WithTimeout(waitTimeout).WithPolling(5 * time.Millisecond).Should(Succeed())
	g.Expect(len(w.requests.about("PATCH /api/v1/namespaces/" + w.member + "/configmaps/settings"))).To(BeNumerically("<", 15))
	g.Eventually(func(g Gomega) { g.Expect(w.get(g, "settings").Data).To(HaveKeyWithValue("a", "1")) }).
		WithTimeout(waitTimeout).Should(Succeed())
	w.isApplied(t, work)
}

func TestADeletedObjectIsMadeAnew(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t)
	work := w.work(t, "settings", w.configMap("settings", map[string]string{"a": "1"}))
	w.isApplied(t, work)
	first := w.get(g, "settings")
	g.Expect(w.client.Delete(t.Context(), first)).To(Succeed())
	g.Eventually(func(g Gomega) {
		g.Expect(w.get(g, "settings").UID).NotTo(Equal(first.UID))
	}).WithTimeout(waitTimeout).Should(Succeed())
}

func TestNothingIsAskedOfTheMemberWhenNothingChanged(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t)
	w.watches(t, w.deployment("watched"))
	work := w.work(t, "web", w.deployment("web"))
	w.isApplied(t, work)
	g.Expect(w.requests.about("/deployments/web")).To(Equal([]string{
		"PATCH /apis/apps/v1/namespaces/" + w.member + "/deployments/web",
	}))

	// Changes of the status, of others' labels and of the Work's own status cause no requests.
	status := w.readDeployment(t, "web")
	before := status.DeepCopy()
	status.Object["status"] = map[string]any{"replicas": int64(3), "observedGeneration": int64(1)}
	g.Expect(w.client.Status().Patch(t.Context(), status, client.MergeFrom(before))).To(Succeed())
	before = status.DeepCopy()
	status.SetLabels(map[string]string{contract.ManagedLabel: contract.LabelTrue, "theirs": "yes"})
	g.Expect(w.client.Patch(t.Context(), status, client.MergeFrom(before))).To(Succeed())
	w.change(t, work, func(work *workv1alpha1.Work) { work.Labels = map[string]string{"any": "label"} })

	// Nor does a change of the Work that leaves the manifest alone. It comes last, so that all earlier changes have
	// been reconciled by then.
	count := func() int {
		w.reports.mu.Lock()
		defer w.reports.mu.Unlock()
		return w.reports.count[client.ObjectKeyFromObject(work)]
	}
	reported := count()
	w.change(t, work, func(work *workv1alpha1.Work) { work.Spec.PreserveResourcesOnDeletion = new(true) })
	g.Eventually(count).WithTimeout(waitTimeout).Should(BeNumerically(">", reported))
	w.isApplied(t, work)
	g.Consistently(func() []string { return w.requests.about("/deployments/web") }).
		WithTimeout(500 * time.Millisecond).Should(HaveLen(1))
}

func TestOneRefusedManifestDoesNotHoldUpTheOthers(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t)
	work := w.work(t, "several",
		w.configMap("first", map[string]string{"a": "1"}),
		map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "Bad_Name", "namespace": w.member}},
		w.configMap("last", map[string]string{"a": "1"}))
	g.Expect(w.isNotApplied(t, work)).To(And(
		HavePrefix("Failed to apply all manifests (2/3): Secret "+w.member+"/Bad_Name: the member refuses it: "),
		ContainSubstring("Invalid value")))
	g.Expect(w.get(g, "first").Data).To(HaveKey("a"))
	g.Expect(w.get(g, "last").Data).To(HaveKey("a"))
}

// TestFieldsThatDoNotFitTheSchemaAreNamed holds that the field is named, and what is to be done.
func TestFieldsThatDoNotFitTheSchemaAreNamed(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t)
	port := func(name string) any { return map[string]any{"name": name, "port": int64(80), "protocol": "TCP"} }
	work := w.work(t, "odd",
		map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "late", "namespace": w.member}, "later": "x"},
		map[string]any{"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": "twice", "namespace": w.member}, "spec": map[string]any{
			"ports": []any{port("a"), port("b")},
		}})
	g.Expect(w.isNotApplied(t, work)).To(And(
		ContainSubstring(".later: field not declared in schema; this member's version of the kind has no such field: upgrade the member, or remove the field"),
		ContainSubstring(`.spec.ports: duplicate entries for key [port=80,protocol="TCP"]; elements of that list are told apart by this key: keep one with it`)))
}

func TestAWorkWaitsForItsNamespaceWithoutAWord(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t)
	namespace := w.member + "-late"
	manifest := w.configMap("settings", map[string]string{"a": "1"})
	manifest.Namespace = namespace
	work := w.work(t, "settings", manifest)
	g.Eventually(func() []string { return w.requests.about("PATCH /api/v1/namespaces/" + namespace) }).
		WithTimeout(waitTimeout).ShouldNot(BeEmpty())
	g.Expect(w.reports.applied(work).Status).To(BeEmpty())
	w.work(t, "namespace", map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": namespace}})
	w.isApplied(t, work)
}

func TestAWorkOfAKindThatTheMemberDoesNotKnowSaysSo(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t)
	work := w.work(t, "widget", map[string]any{
		"apiVersion": "shop.example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "one", "namespace": w.member},
	})
	g.Expect(w.isNotApplied(t, work)).To(ContainSubstring(
		"the member does not know the kind Widget of shop.example.com/v1; install its CustomResourceDefinition there"))
}

func TestASuspendedWorkLeavesTheMemberAlone(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t)
	work := w.work(t, "settings", w.configMap("settings", map[string]string{"a": "1"}))
	w.isApplied(t, work)
	w.change(t, work, func(work *workv1alpha1.Work) {
		work.Spec.SuspendDispatching = new(true)
		work.Spec.Workload.Manifests = raw(t, w.configMap("settings", map[string]string{"a": "2"}))
	})
	g.Eventually(func() metav1.ConditionStatus { return w.reports.condition(work, workv1alpha1.WorkDispatching).Status }).
		WithTimeout(waitTimeout).Should(Equal(metav1.ConditionFalse))
	cm := w.get(g, "settings")
	g.Expect(cm.Data).To(HaveKeyWithValue("a", "1"))

	w.change(t, work, func(work *workv1alpha1.Work) { work.Spec.SuspendDispatching = nil })
	w.isApplied(t, work)
	g.Expect(w.get(g, "settings").Data).To(HaveKeyWithValue("a", "2"))
	w.change(t, work, func(work *workv1alpha1.Work) { work.Spec.SuspendDispatching = new(true) })
	w.end(t, work, contract.DeletionRemoved)
	w.isGone(t, work)
	g.Expect(apierrors.IsNotFound(w.client.Get(t.Context(), client.ObjectKeyFromObject(cm), cm))).To(BeTrue())
}

// TestAKindThatIsClusterScopedHereIsNoTenants covers a kind that is namespaced on the hub and cluster-scoped in the
// member: a tenant with rights in one namespace of the hub must not reach an object of the whole member.
func TestAKindThatIsClusterScopedHereIsNoTenants(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := newWorld(t)
	class := &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "scheduling.k8s.io/v1", Kind: "PriorityClass"},
		ObjectMeta: metav1.ObjectMeta{Namespace: w.member, Name: w.member},
	}
	g.Expect(w.isNotApplied(t, w.work(t, "class", class))).To(ContainSubstring("the kind is cluster-scoped in the member"))
	g.Expect(w.client.Get(t.Context(), client.ObjectKey{Name: w.member}, class)).To(Satisfy(apierrors.IsNotFound))
}
