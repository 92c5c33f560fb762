package failover

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/hub/adjust/failover/evict"
)

// TestAWrittenStatusIsToldThoughTheSpecConflicts holds that a commit whose second write
// conflicts says that the first one was made: the condition is news only now.
func TestAWrittenStatusIsToldThoughTheSpecConflicts(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	scheme, err := kube.NewScheme()
	g.Expect(err).NotTo(HaveOccurred())
	b := &workv1alpha2.ResourceBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Generation: 1},
		Spec: workv1alpha2.ResourceBindingSpec{
			Resource:  workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"},
			Placement: &policyv1alpha1.Placement{},
			Clusters:  []workv1alpha2.TargetCluster{{Name: "edge-1"}, {Name: "edge-2"}},
		},
	}
	hub := interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).WithObjects(b).WithStatusSubresource(b).Build(), interceptor.Funcs{
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return apierrors.NewConflict(schema.GroupResource{Resource: "resourcebindings"}, "web", nil)
		},
	})
	g.Expect(hub.Get(t.Context(), client.ObjectKeyFromObject(b), b)).To(Succeed())
	var told []string
	r := &reconciler{hubClient: hub, kind: kube.ResourceBindings(), events: func(e eventsink.Event) { told = append(told, e.Reason) }}
	in := &scope{Input: evict.Input{Spec: &b.Spec, Status: &b.Status, Now: time.Unix(1000, 0)}}
	d := &evict.Decision{
		Evictions: []evict.Eviction{{Cluster: "edge-1", Task: workv1alpha2.GracefulEvictionTask{FromCluster: "edge-1", CreationTimestamp: new(metav1.NewTime(time.Unix(1000, 0)))}}},
		Condition: &metav1.Condition{Type: workv1alpha2.BindingEvicting, Status: metav1.ConditionFalse, Reason: "NoReplacement", Message: "There is none for edge-2."},
	}
	wrote, err := r.commit(t.Context(), b, in, d)
	g.Expect(apierrors.IsConflict(err)).To(BeTrue(), "%v", err)
	g.Expect(wrote).To(BeTrue())
	r.reportCondition(b, d, nil)
	g.Expect(told).To(HaveEach("NoReplacement"))
	g.Expect(told).NotTo(BeEmpty())
}
