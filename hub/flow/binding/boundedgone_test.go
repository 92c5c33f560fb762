package binding

import (
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"sigs.k8s.io/controller-runtime/pkg/event"
)

// TestBoundsAreForgottenWithNamespace deletes a namespace that had a quota and has no bindings any more.
func TestBoundsAreForgottenWithNamespace(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := &reconciler{}
	r.bounded.see("shop", sets.New(corev1.ResourceCPU))
	r.bounded.see("bank", sets.New(corev1.ResourceCPU))
	gone := event.DeleteEvent{Object: &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}}
	g.Expect(namespaceChanged().Delete(gone)).To(BeTrue())
	r.onNamespace().Delete(t.Context(), gone, nil)
	g.Expect(r.bounded.last).To(And(HaveLen(1), HaveKey("bank")))
}
