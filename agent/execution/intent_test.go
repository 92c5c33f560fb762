package execution_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter/native"
	"fairlead.dev/test/cluster"
)

// TestAWorkThatIsDeletedWithoutAnIntentKeepsItsObjects deletes a Work by hand: its objects stay, are reported, and
// are adopted by the Work that the hub creates in its place.
func TestAWorkThatIsDeletedWithoutAnIntentKeepsItsObjects(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t)
	work := w.work(t, "settings", w.configMap("settings", map[string]string{"a": "1"}))
	w.isApplied(t, work)
	first := w.get(g, "settings")

	g.Expect(w.client.Delete(t.Context(), work)).To(Succeed())
	w.isGone(t, work)
	g.Eventually(w.executor.Unclaimed).WithTimeout(waitTimeout).Should(Equal(1))
	g.Expect(w.requests.about("DELETE")).To(BeEmpty())

	again := w.work(t, "settings", w.configMap("settings", map[string]string{"a": "2"}))
	w.isApplied(t, again)
	g.Eventually(w.executor.Unclaimed).WithTimeout(waitTimeout).Should(BeZero())
	// The former Work of this name was reported as applied as well, so wait for the content.
	g.Eventually(func(g Gomega) { g.Expect(w.get(g, "settings").Data).To(HaveKeyWithValue("a", "2")) }).Should(Succeed())
	live := w.get(g, "settings")
	g.Expect(live.UID).To(Equal(first.UID))

	w.end(t, again, contract.DeletionRemoved)
	w.isGone(t, again)
	g.Expect(apierrors.IsNotFound(w.client.Get(t.Context(), client.ObjectKeyFromObject(live), live))).To(BeTrue(), "the hub meant that one")
}

// TestAWorkOfAClusterThatIsRemovedKeepsItsObjects deletes the Cluster: the hub removes its Works before it has locked
// the agent out.
func TestAWorkOfAClusterThatIsRemovedKeepsItsObjects(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t)
	work := w.work(t, "settings", w.configMap("settings", map[string]string{"a": "1"}))
	w.isApplied(t, work)
	w.end(t, work, contract.DeletionClusterLeft)
	w.isGone(t, work)
	g.Eventually(w.executor.Unclaimed).WithTimeout(waitTimeout).Should(Equal(1))
	g.Expect(w.requests.about("DELETE")).To(BeEmpty())
	g.Expect(w.get(g, "settings").DeletionTimestamp).To(BeNil())
}

// TestAnIntentThatComesAfterAWorkWasLetGoDeletesNothing covers a deleted Work that another finalizer holds. Its
// objects stay and are not this Work's any more, so an intent that the hub sets afterwards deletes none of them.
func TestAnIntentThatComesAfterAWorkWasLetGoDeletesNothing(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t)
	work := w.work(t, "settings", w.configMap("settings", nil))
	w.change(t, work, func(work *workv1alpha1.Work) { work.Finalizers = append(work.Finalizers, "test.example.com/hold") })
	w.isApplied(t, work)
	g.Expect(w.client.Delete(t.Context(), work)).To(Succeed())
	g.Eventually(func(g Gomega) {
		live := &workv1alpha1.Work{}
		g.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(work), live)).To(Succeed())
		g.Expect(live.Finalizers).NotTo(ContainElement(contract.ExecutionFinalizer))
	}).WithTimeout(waitTimeout).Should(Succeed())
	g.Eventually(w.executor.Unclaimed).WithTimeout(waitTimeout).Should(Equal(1))

	w.intend(t, work, contract.DeletionRemoved)
	g.Consistently(func() []string { return w.requests.about("DELETE") }).WithTimeout(500 * time.Millisecond).Should(BeEmpty())
	g.Expect(w.get(g, "settings").DeletionTimestamp).To(BeNil())
	w.change(t, work, func(work *workv1alpha1.Work) { work.Finalizers = nil })
	w.isGone(t, work)
	g.Eventually(w.executor.Unclaimed).WithTimeout(waitTimeout).Should(Equal(1))
	g.Expect(w.requests.about("DELETE")).To(BeEmpty())
}

// TestAnIntentThatComesAfterTheDeletionCounts checks that an intent that is there when the agent reconciles counts,
// even if it was set after the deletion.
func TestAnIntentThatComesAfterTheDeletionCounts(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := cluster.Shared(t, cluster.Options{Profile: cluster.Hub})
	w := unstarted(t)
	cm := w.marked("settings")
	g.Expect(w.client.Create(t.Context(), cm)).To(Succeed())
	work := w.work(t, cm.Name, w.configMap(cm.Name, nil))
	g.Expect(w.client.Delete(t.Context(), work)).To(Succeed())
	w.intend(t, work, contract.DeletionRemoved)
	w.start(t, c.Config, native.New())
	w.isGone(t, work)
	g.Expect(apierrors.IsNotFound(w.client.Get(t.Context(), client.ObjectKeyFromObject(cm), cm))).To(BeTrue())
}

// definition is a CustomResourceDefinition whose name no other test has.
func (w *world) definition() *apiextensionsv1.CustomResourceDefinition {
	group := w.member + ".example.com"
	return &apiextensionsv1.CustomResourceDefinition{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: "widgets." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "widgets", Singular: "widget", Kind: "Widget", ListKind: "WidgetList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"}},
			}},
		},
	}
}

// uid returns the UID of an object of the member; empty if it is gone or being deleted.
func (w *world) uid(t *testing.T, manifest client.Object) string {
	t.Helper()
	live := &metav1.PartialObjectMetadata{}
	live.SetGroupVersionKind(manifest.GetObjectKind().GroupVersionKind())
	err := w.client.Get(t.Context(), client.ObjectKeyFromObject(manifest), live)
	NewWithT(t).Expect(client.IgnoreNotFound(err)).To(Succeed())
	if live.DeletionTimestamp != nil {
		return ""
	}
	return string(live.UID)
}

// containers are a Namespace and a CustomResourceDefinition, and for each something that is
// in it and not from the hub.
func (w *world) containers() map[string]struct{ container, foreign client.Object } {
	namespace := &corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: w.member + "-of-work"}}
	widget := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": w.member + ".example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "theirs", "namespace": w.member},
	}}
	inside := w.configMap("theirs", nil)
	inside.Namespace = namespace.Name
	return map[string]struct{ container, foreign client.Object }{
		"a Namespace":                {namespace, inside},
		"a CustomResourceDefinition": {w.definition(), widget},
	}
}

func TestForeignContentsKeepAContainer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, tc := range w.containers() {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			label := "container-" + tc.container.GetName()
			work := w.work(t, label, tc.container)
			w.isApplied(t, work)
			g.Eventually(func() error { return w.client.Create(t.Context(), tc.foreign) }).WithTimeout(waitTimeout).Should(Succeed())
			first, theirs := w.uid(t, tc.container), tc.foreign.GetUID()

			//  1. Removed: it stays, with its marks, and an event says why.
			w.end(t, work, contract.DeletionRemoved)
			w.isGone(t, work)
			g.Eventually(w.events.all).WithTimeout(waitTimeout).Should(ContainElement(And(HavePrefix("LeftInMember: "), ContainSubstring("theirs"))))
			g.Eventually(w.executor.Unclaimed).WithTimeout(waitTimeout).Should(BeNumerically(">=", 1))
			g.Expect(w.uid(t, tc.container)).To(Equal(first))

			//  2. Evicted: it loses its marks, and a new Work of that name adopts it.
			work = w.work(t, label, tc.container)
			w.isApplied(t, work)
			w.end(t, work, contract.DeletionEvicted)
			w.isGone(t, work)
			live := &metav1.PartialObjectMetadata{}
			live.SetGroupVersionKind(tc.container.GetObjectKind().GroupVersionKind())
			g.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(tc.container), live)).To(Succeed())
			g.Expect(live.Labels).NotTo(HaveKey(contract.ManagedLabel))
			work = w.work(t, label, tc.container)
			w.isApplied(t, work)
			g.Expect(w.uid(t, tc.container)).To(Equal(first))
			g.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(tc.foreign), tc.foreign)).To(Succeed())
			g.Expect(tc.foreign.GetUID()).To(Equal(theirs))

			//  3. With the annotation on the Work that approves it, it is deleted.
			w.change(t, work, func(work *workv1alpha1.Work) {
				work.Annotations = map[string]string{contract.DeleteContentsAnnotation: contract.LabelTrue}
			})
			w.end(t, work, contract.DeletionRemoved)
			w.isGone(t, work)
			g.Expect(w.uid(t, tc.container)).To(BeEmpty())
		})
	}
}

// TestAnEvictionDeletesNoContainer checks that an eviction never deletes Namespaces and CustomResourceDefinitions,
// whatever they contain.
func TestAnEvictionDeletesNoContainer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, tc := range w.containers() {
		t.Run(name, func(t *testing.T) {
			work := w.work(t, "empty-"+tc.container.GetName(), tc.container)
			w.isApplied(t, work)
			first := w.uid(t, tc.container)
			w.end(t, work, contract.DeletionEvicted)
			w.isGone(t, work)
			NewWithT(t).Expect(w.uid(t, tc.container)).To(Equal(first))
		})
	}
}

// TestAContainerOfOursAloneGoesWithItsWork checks that without others' objects they are deleted with their Work.
func TestAContainerOfOursAloneGoesWithItsWork(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, tc := range w.containers() {
		t.Run(name, func(t *testing.T) {
			work := w.work(t, "ours-"+tc.container.GetName(), tc.container)
			w.isApplied(t, work)
			w.end(t, work, contract.DeletionRemoved)
			w.isGone(t, work)
			NewWithT(t).Eventually(func() string { return w.uid(t, tc.container) }).WithTimeout(waitTimeout).Should(BeEmpty())
		})
	}
}

// What stays when its Work ends does not go with its Namespace either, whichever Work ends first.
func TestAPreservedObjectKeepsItsNamespace(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t)
	namespace := &corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: w.member + "-stays"}}
	inside := w.configMap("stays", nil)
	inside.Namespace = namespace.Name
	around, work := w.work(t, "around", namespace), w.work(t, "stays", inside)
	w.change(t, work, func(work *workv1alpha1.Work) { work.Spec.PreserveResourcesOnDeletion = new(true) })
	w.isApplied(t, around)
	w.isApplied(t, work)
	first := w.uid(t, namespace)

	w.end(t, around, contract.DeletionMoved)
	w.isGone(t, around)
	g.Expect(w.uid(t, namespace)).To(Equal(first))
	w.end(t, work, contract.DeletionMoved)
	w.isGone(t, work)
	g.Expect(w.uid(t, inside)).NotTo(BeEmpty())
}

// What a person copied in the member with all its marks, and what a Work had before, are nobody's and stay as well.
func TestUnclaimedObjectsKeepTheirNamespace(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t)
	namespace := &corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: w.member + "-copies"}}
	inside, lost := w.configMap("inside", nil), w.configMap("lost", nil)
	inside.Namespace, lost.Namespace = namespace.Name, namespace.Name
	around, work := w.work(t, "around", namespace), w.work(t, "inside", inside, lost)
	w.isApplied(t, around)
	w.isApplied(t, work)
	copied := &corev1.ConfigMap{}
	g.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(inside), copied)).To(Succeed())
	copied.ObjectMeta = metav1.ObjectMeta{Namespace: namespace.Name, Name: "copied", Labels: copied.Labels, Annotations: copied.Annotations}
	g.Expect(w.client.Create(t.Context(), copied)).To(Succeed())
	copied.TypeMeta = inside.TypeMeta // the client has taken it off
	w.change(t, work, func(work *workv1alpha1.Work) { work.Spec.Workload.Manifests = work.Spec.Workload.Manifests[:1] })
	g.Eventually(w.executor.Unclaimed).WithTimeout(waitTimeout).Should(Equal(2))

	w.end(t, around, contract.DeletionRemoved)
	w.end(t, work, contract.DeletionRemoved)
	w.isGone(t, work)
	w.isGone(t, around)
	g.Eventually(w.events.all).WithTimeout(waitTimeout).Should(ContainElement(And(
		HavePrefix("LeftInMember: "), ContainSubstring(namespace.Name+"/copied"), ContainSubstring(namespace.Name+"/lost"))))
	for _, stays := range []client.Object{namespace, copied, lost} {
		g.Expect(w.uid(t, stays)).NotTo(BeEmpty())
	}
	g.Expect(w.uid(t, inside)).To(BeEmpty())
}
