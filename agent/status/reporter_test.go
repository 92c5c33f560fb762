package status

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/interpreter/native"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/eventsink"
)

var self = types.NamespacedName{Namespace: "works", Name: "settings"}

// newReporter returns a reporter whose hub has these objects.
func newReporter(t *testing.T, funcs interceptor.Funcs, objects ...client.Object) (*Reporter, client.Client) {
	t.Helper()
	g := NewWithT(t)
	scheme, err := kube.NewScheme()
	g.Expect(err).NotTo(HaveOccurred())
	hub := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithStatusSubresource(&workv1alpha1.Work{}).WithInterceptorFuncs(funcs).Build()
	r, err := New(hub, Deps{
		Namespace: self.Namespace, Cluster: "edge-1", Interpreter: native.New(), Events: func(eventsink.Event) {},
		PodReasons: func(*unstructured.Unstructured) ([]workv1alpha1.PodReason, bool) { return nil, true },
		Clock:      clocktesting.NewFakeClock(time.Unix(1000, 0)),
	})
	g.Expect(err).NotTo(HaveOccurred())
	return r, hub
}

func work() *workv1alpha1.Work {
	return &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Namespace: self.Namespace, Name: self.Name, UID: "work", Generation: 1}}
}

func applied() []metav1.Condition {
	return []metav1.Condition{{Type: workv1alpha1.WorkApplied, Status: metav1.ConditionTrue, Reason: workv1alpha1.ReasonAppliedSuccessful}}
}

// TestAConflictAboutTheSameWorkIsTriedAgain covers the conflict by which an API server gives up a patch after too
// many concurrent writes.
func TestAConflictAboutTheSameWorkIsTriedAgain(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	conflicts := 1
	r, hub := newReporter(t, interceptor.Funcs{SubResourcePatch: func(
		ctx context.Context, c client.Client, sub string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption,
	) error {
		if conflicts > 0 {
			conflicts--
			return apierrors.NewConflict(schema.GroupResource{Resource: "works"}, obj.GetName(), nil)
		}
		return c.SubResource(sub).Patch(ctx, obj, patch, opts...)
	}}, work())
	r.Report(work(), applied(), nil, nil, nil)
	g.Expect(r.write(t.Context(), self)).NotTo(Succeed())
	g.Expect(r.write(t.Context(), self)).To(Succeed())
	got := &workv1alpha1.Work{}
	g.Expect(hub.Get(t.Context(), self, got)).To(Succeed())
	g.Expect(meta.IsStatusConditionTrue(got.Status.Conditions, workv1alpha1.WorkApplied)).To(BeTrue())
}

func TestNothingIsRememberedOfAWorkThatIsGone(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r, _ := newReporter(t, interceptor.Funcs{})

	// Its objects are still observed for a while.
	r.Observe(self, object("a", "1"))
	g.Expect(r.works).To(HaveLen(1))
	r.Gone(self, object("a", "2"))
	g.Expect(r.works).To(BeEmpty())

	// The result of its last reconcile is reported afterwards.
	r.Report(work(), applied(), nil, nil, nil)
	g.Expect(r.works).To(HaveLen(1))
	g.Expect(r.write(t.Context(), self)).To(Succeed())
	g.Expect(r.works).To(BeEmpty())
}
