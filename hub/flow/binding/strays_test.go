package binding_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/stagetest"
)

// lose deletes a binding without its Works, as if the hub that created them was killed before the hub that removed the finalizer saw them.
func (w *world) lose(t *testing.T, b *workv1alpha2.ResourceBinding) {
	t.Helper()
	g := NewWithT(t)
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) { b.Finalizers = nil })
	g.Expect(w.hub.Delete(t.Context(), b)).To(Succeed())
	g.Eventually(func() error { return w.hub.Get(t.Context(), client.ObjectKeyFromObject(b), b) }, stagetest.Timeout, stagetest.Poll).
		Should(Satisfy(apierrors.IsNotFound))
}

// again creates a binding with the same name and another permanent id.
func (w *world) again(t *testing.T, b *workv1alpha2.ResourceBinding, id string, members ...string) {
	t.Helper()
	out := b.DeepCopy()
	out.ObjectMeta = metav1.ObjectMeta{
		Namespace: b.Namespace, Name: b.Name, Labels: map[string]string{contract.ResourceBindingPermanentIDLabel: id}, Finalizers: []string{contract.BindingFinalizer},
	}
	out.Spec.Clusters = w.shares(members...)
	NewWithT(t).Expect(w.hub.Create(t.Context(), out)).To(Succeed())
}

func seesAll(*cache.Options) {}

func TestWorksOfDeletedBindingAreDeleted(t *testing.T) {
	g := NewWithT(t)
	w, template, b := placed(t, "goes", "leaves", "stays")
	w.leave(t, "leaves")
	change(t, w, w.work(t, "stays", template), func(work *workv1alpha1.Work) { work.Spec.PreserveResourcesOnDeletion = new(true) })
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) { b.Spec.PreserveResourcesOnDeletion = new(true) })
	w.behind(t, b, seesAll)
	w.awaitHub(t, "goes")
	w.lose(t, b)
	for name, why := range map[string]string{"goes": contract.DeletionRemoved, "leaves": contract.DeletionClusterLeft, "stays": contract.DeletionRemoved} {
		g.Eventually(func() string { return w.intent(t, name, template) }, stagetest.Timeout, stagetest.Poll).Should(Equal(why), name)
	}
	g.Eventually(func() []string { return w.works(t, "web-") }, stagetest.Timeout, stagetest.Poll).
		Should(Equal([]string{"goes going", "leaves going", "stays going"}))
	g.Expect(w.work(t, "stays", template).Spec.PreserveResourcesOnDeletion).To(HaveValue(BeTrue()))
}

// TestWorksWithoutBindingStay checks that neither Works that exist at the start nor those that are created by others are
// deleted because their binding is missing, or because another binding has its name.
func TestWorksWithoutBindingStay(t *testing.T) {
	g := NewWithT(t)
	w, template, b := placed(t, "a", "b")
	w.join(t, "c")
	saved := w.work(t, "b", template)
	w.lose(t, b)
	g.Expect(w.hub.Delete(t.Context(), saved)).To(Succeed())
	w.release(t, saved)
	g.Eventually(func() []string { return w.works(t, "web-") }, stagetest.Timeout, stagetest.Poll).Should(Equal([]string{"a"}))
	hub, _ := w.behind(t, b, seesAll)
	w.awaitHub(t, "c")
	hub.wrote()
	w.apply(t, saved)
	g.Consistently(func() []string { return w.works(t, "web-") }, stagetest.Quiet, stagetest.Poll).Should(Equal([]string{"a", "b"}))
	w.again(t, b, "another-id", "c")
	g.Eventually(func() []string { return w.works(t, "web-") }, stagetest.Timeout, stagetest.Poll).Should(Equal([]string{"a", "b", "c"}))
	g.Consistently(func() []string { return w.works(t, "web-") }, stagetest.Quiet, stagetest.Poll).Should(Equal([]string{"a", "b", "c"}))
	g.Expect(w.intent(t, "a", template) + w.intent(t, "b", template)).To(BeEmpty())
}

func TestWorkSeenAfterItsBindingIsDeleted(t *testing.T) {
	g := NewWithT(t)
	w, template, b := placed(t, "a")
	w.behind(t, b, seesAll)
	w.awaitHub(t, "a")
	late := w.work(t, "a", template)
	w.lose(t, b)
	g.Eventually(func() []string { return w.works(t, "web-") }, stagetest.Timeout, stagetest.Poll).Should(Equal([]string{"a going"}))
	w.release(t, w.work(t, "a", template))
	g.Eventually(func() []string { return w.works(t, "web-") }, stagetest.Timeout, stagetest.Poll).Should(BeEmpty())
	w.apply(t, late)
	g.Eventually(func() string { return w.intent(t, "a", template) }, stagetest.Timeout, stagetest.Poll).Should(Equal(contract.DeletionRemoved))
}

// apply creates a Work again.
func (w *world) apply(t *testing.T, work *workv1alpha1.Work) {
	t.Helper()
	work = work.DeepCopy()
	work.ObjectMeta = metav1.ObjectMeta{
		Namespace: work.Namespace, Name: work.Name, Labels: work.Labels, Annotations: work.Annotations, Finalizers: []string{contract.ExecutionFinalizer},
	}
	NewWithT(t).Expect(w.hub.Create(t.Context(), work)).To(Succeed())
}

// awaitHub waits until a hub is active.
func (w *world) awaitHub(t *testing.T, member string) {
	t.Helper()
	w.create(t, builder.MakeConfigMap(w.namespace, "hello", "k", "v").Obj(), member)
	NewWithT(t).Eventually(func() []string { return w.works(t, "hello-") }, stagetest.Timeout, stagetest.Poll).Should(Equal([]string{member}))
}

func TestBindingMissingFromCacheDeletesNothing(t *testing.T) {
	g := NewWithT(t)
	w, template, b := placed(t, "a", "b")
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) { b.Labels["seen"] = "yes" })
	blind, read := w.behind(t, b, func(o *cache.Options) {
		not, err := labels.Parse("seen!=no")
		g.Expect(err).NotTo(HaveOccurred())
		o.ByObject[&workv1alpha2.ResourceBinding{}] = cache.ByObject{Label: not}
	})
	w.awaitHub(t, "a")
	blind.wrote()
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) { b.Labels["seen"] = "no" })
	g.Eventually(read.Load, stagetest.Timeout, stagetest.Poll).Should(BeNumerically(">", 0), "the binding is read live")
	g.Consistently(func() []string { return w.works(t, "web-") }, stagetest.Quiet, stagetest.Poll).Should(Equal([]string{"a", "b"}))
	g.Expect(w.intent(t, "a", template)).To(BeEmpty())
	g.Expect(blind.wrote()).To(BeEmpty())
}

func TestNewBindingTakesOverWorks(t *testing.T) {
	g := NewWithT(t)
	w, template, b := placed(t, "both", "former")
	change(t, w, template, func(o *unstructured.Unstructured) {
		o.SetLabels(map[string]string{contract.PropagationPolicyPermanentIDLabel: "of-a-policy"})
	})
	former := w.work(t, "both", template)
	_, read := w.behind(t, b, seesAll)
	w.awaitHub(t, "both")
	w.lose(t, b)
	g.Eventually(read.Load, stagetest.Timeout, stagetest.Poll).Should(BeNumerically(">", 0), "the binding is read live")
	g.Consistently(func() []string { return w.works(t, "web-") }, stagetest.Quiet, stagetest.Poll).Should(Equal([]string{"both", "former"}), "Works stay while a policy has claimed the template")

	g.Eventually(time.Now, stagetest.Timeout, stagetest.Poll).Should(BeTemporally(">=", former.CreationTimestamp.Add(time.Second)), "the new binding must be younger by a second")
	w.again(t, b, "another-id", "both")
	g.Eventually(func() string { return w.work(t, "both", template).Labels[contract.ResourceBindingPermanentIDLabel] }, stagetest.Timeout, stagetest.Poll).Should(Equal("another-id"))
	taken := w.work(t, "both", template)
	g.Expect(taken.UID).To(Equal(former.UID))
	g.Expect(taken.Labels[contract.WorkPermanentIDLabel]).NotTo(Equal(former.Labels[contract.WorkPermanentIDLabel]))
	g.Expect(manifest(t, taken, "metadata", "labels", contract.WorkPermanentIDLabel)).To(Equal(taken.Labels[contract.WorkPermanentIDLabel]))
	g.Expect(taken.Annotations).NotTo(HaveKey(contract.DeletionIntentAnnotation))
	g.Eventually(func() string { return w.intent(t, "former", template) }, stagetest.Timeout, stagetest.Poll).Should(Equal(contract.DeletionRemoved))
}

func TestBindingWithoutPermanentIDDeletesNothing(t *testing.T) {
	g := NewWithT(t)
	w, template, b := placed(t, "a", "b")
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) {
		b.Labels, b.Spec.Clusters = nil, b.Spec.Clusters[:1]
	})
	w.behind(t, b, seesAll)
	g.Eventually(func() string { return w.work(t, "a", template).Labels[contract.ResourceBindingPermanentIDLabel] }, stagetest.Timeout, stagetest.Poll).Should(Equal(string(b.UID)))
	g.Consistently(func() []string { return w.works(t, "web-") }, stagetest.Quiet, stagetest.Poll).Should(Equal([]string{"a", "b"}))
}
