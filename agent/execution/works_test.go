package execution

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
)

// TestARestoredHubTakesADeletionBack has a Work come back as it was before its deletion, which the
// agent saw through: it is looked at, and when it is gone again it counts as absent.
func TestARestoredHubTakesADeletionBack(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	work := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Namespace: "works", Name: "settings", UID: "1"}}
	ending := work.DeepCopy()
	ending.DeletionTimestamp = &metav1.Time{Time: time.Unix(0, 0)}
	g.Expect(asks(work, ending)).To(BeTrue())
	g.Expect(asks(ending, work)).To(BeTrue())
	ending.Annotations = map[string]string{contract.DeletionIntentAnnotation: contract.DeletionRemoved}
	g.Expect(asks(ending, work)).To(BeTrue())
	g.Expect(asks(work, work)).To(BeFalse())

	scheme, err := kube.NewScheme()
	g.Expect(err).NotTo(HaveOccurred())
	w := newWorks(fake.NewClientBuilder().WithScheme(scheme).WithObjects(work).Build(), nil)
	w.arrive()
	w.Finish(work.UID)
	_, from, err := w.Get(t.Context(), client.ObjectKeyFromObject(work))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(from).To(Equal(hub))
	g.Expect(w.MarkAbsent(work)).To(BeFalse(), "nobody saw to the end of it this time")
	g.Expect(w.Absent()).To(ConsistOf(client.ObjectKeyFromObject(work)))
}
