package execution_test

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
)

// wanted returns a Namespace and a CustomResourceDefinition, each with a constructor for an object in it.
func (w *world) wanted() map[string]struct {
	container client.Object
	inside    func(name string) client.Object
} {
	namespace := &corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: w.member + "-wanted"}}
	definition := w.definition()
	return map[string]struct {
		container client.Object
		inside    func(name string) client.Object
	}{
		"a Namespace": {namespace, func(name string) client.Object {
			out := w.configMap(name, nil)
			out.Namespace = namespace.Name
			return out
		}},
		"a CustomResourceDefinition": {definition, func(name string) client.Object {
			return &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": definition.Spec.Group + "/v1", "kind": "Widget", "metadata": map[string]any{"name": name, "namespace": w.member},
			}}
		}},
	}
}

// The placement of a CustomResourceDefinition, or of a Namespace, is changed, and not that of what is in it, which would go
// along, past the brake: it stays until nobody wants what is in it.
func TestContentsThatOtherWorksWantKeepAContainer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, tc := range w.wanted() {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			around := w.work(t, "around-"+tc.container.GetName(), tc.container)
			w.isApplied(t, around)
			inside := make([]*workv1alpha1.Work, 30)
			for i := range inside {
				inside[i] = w.work(t, fmt.Sprintf("inside-%s-%02d", tc.container.GetName(), i), tc.inside(fmt.Sprintf("wanted-%02d", i)))
			}
			uids := func() []string {
				out := make([]string, len(inside))
				for i := range inside {
					out[i] = w.uid(t, tc.inside(fmt.Sprintf("wanted-%02d", i)))
				}
				return out
			}
			for _, work := range inside {
				w.isApplied(t, work)
			}
			first, container := uids(), w.uid(t, tc.container)

			//  1. Nothing is deleted, its Work stays, and if that takes long, an event says why.
			w.end(t, around, contract.DeletionMoved)
			g.Eventually(w.events.all).WithTimeout(waitTimeout).Should(ContainElement(And(
				HavePrefix("ContentsWanted: "), ContainSubstring(tc.container.GetName()), ContainSubstring("of Work "+inside[0].Name), ContainSubstring("and 27 more"))))
			g.Expect(w.uid(t, tc.container)).To(Equal(container))
			g.Expect(uids()).To(Equal(first))
			g.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(around), around)).To(Succeed())
			g.Expect(around.Finalizers).To(ContainElement(contract.ExecutionFinalizer))

			//  2. When their Works end, too, everything is deleted.
			for _, work := range inside {
				w.end(t, work, contract.DeletionMoved)
			}
			for _, work := range inside {
				w.isGone(t, work)
			}
			w.isGone(t, around)
			g.Eventually(func() string { return w.uid(t, tc.container) }).WithTimeout(waitTimeout).Should(BeEmpty())
		})
	}
}

// A person who says that what is in it may go means what other Works want there as well.
func TestContentsThatOtherWorksWantGoWithAContainerOnRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, tc := range w.wanted() {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			around := w.work(t, "around-"+tc.container.GetName(), tc.container)
			w.isApplied(t, around)
			inside := w.work(t, "inside-"+tc.container.GetName(), tc.inside("wanted"))
			w.isApplied(t, inside)
			w.end(t, around, contract.DeletionMoved)
			g.Consistently(func() string { return w.uid(t, tc.container) }).WithTimeout(500 * time.Millisecond).ShouldNot(BeEmpty())
			w.change(t, around, func(work *workv1alpha1.Work) {
				work.Annotations = map[string]string{contract.DeletionIntentAnnotation: contract.DeletionMoved, contract.DeleteContentsAnnotation: contract.LabelTrue}
			})
			w.isGone(t, around)
			g.Eventually(func() string { return w.uid(t, tc.container) }).WithTimeout(waitTimeout).Should(BeEmpty())
		})
	}
}

// TestAContainerOfOthersIsNotWaitedFor covers a Work whose CustomResourceDefinition was refused because somebody else
// has one of that name in the member. It deletes nothing, so it ends without waiting for the Works that want
// instances.
func TestAContainerOfOthersIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := newWorld(t)
	for name, tc := range w.wanted() {
		t.Run(name, func(t *testing.T) {
			others, ok := tc.container.DeepCopyObject().(client.Object)
			g.Expect(ok).To(BeTrue())
			g.Expect(w.client.Create(t.Context(), others)).To(Succeed())
			around := w.work(t, "around-"+tc.container.GetName(), tc.container)
			w.isNotApplied(t, around)
			inside := w.work(t, "inside-"+tc.container.GetName(), tc.inside("wanted"))
			w.isApplied(t, inside)
			container := w.uid(t, tc.container)
			w.end(t, around, contract.DeletionMoved)
			w.isGone(t, around)
			g.Expect(w.uid(t, tc.container)).To(Equal(container))
		})
	}
}
