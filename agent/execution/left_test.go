package execution

import (
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/agent/execution/plan"
	"fairlead.dev/common/kube/eventsink"
)

// What stays in the member for the same reason as when an earlier Work of the name ended is told again.
func TestLeftoversAreToldOfEachWork(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	told := 0
	r := &Reconciler{pendingDeletions: newPendingDeletions(), events: func(eventsink.Event) { told++ }}
	work, object := workWith(t, "around", namespaceOf()), plan.Object{NamespacedName: types.NamespacedName{Name: "shop"}}
	for want, uid := range []types.UID{"first", "second"} {
		work.UID = uid
		for range 2 {
			r.left(t.Context(), work, object, &contentsError{object: object, foreign: []string{"ConfigMap shop/theirs"}})
		}
		g.Expect(told).To(Equal(want + 1))
	}
	r.pendingDeletions.Forget(types.NamespacedName{Namespace: ownWorks, Name: "around"})
	g.Expect(r.pendingDeletions.refusals).To(BeEmpty())
}
