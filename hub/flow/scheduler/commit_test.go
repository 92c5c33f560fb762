package scheduler

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/hub/flow/scheduler/reserve"
	"fairlead.dev/test/builder"
)

// TestAFailedWriteReservesWhatWasWritten holds that the reservations are those of the targets
// that were written, whatever became of the rest, and that people are told of these.
func TestAFailedWriteReservesWhatWasWritten(t *testing.T) {
	t.Parallel()
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "resourcebindings"}, "web", nil)
	tests := map[string]struct {
		object, status error
		want           int64
		told           []string
	}{
		"all is written":         {want: 2, told: []string{reasonSucceeded, reasonSucceeded}},
		"nothing is written":     {object: conflict},
		"the targets are, alone": {status: conflict, want: 2, told: []string{reasonSucceeded, reasonSucceeded}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			scheme, err := kube.NewScheme()
			g.Expect(err).NotTo(HaveOccurred())
			b := &workv1alpha2.ResourceBinding{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: "shop", Name: "web", Generation: 1, Labels: map[string]string{contract.PropagationPolicyPermanentIDLabel: "id"},
				},
				Spec: workv1alpha2.ResourceBindingSpec{
					Resource: workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment"}, Replicas: 2, Placement: &policyv1alpha1.Placement{},
				},
			}
			c := builder.MakeCluster("m").Obj()
			c.Status.APIEnablements = []clusterv1alpha1.APIEnablement{{GroupVersion: "apps/v1", Resources: []clusterv1alpha1.APIResource{{Kind: "Deployment"}}}}
			clock := testclock.NewFakePassiveClock(time.Unix(1000, 0))
			var told []string
			r := &reconciler{
				hubReader: fake.NewClientBuilder().WithScheme(scheme).Build(), kind: kube.ResourceBindings(), events: func(e eventsink.Event) { told = append(told, e.Reason) }, clock: clock,
				snapshot: &snapshot{}, ledger: reserve.New(), assumed: map[types.NamespacedName]placement{}, waiting: map[types.NamespacedName]string{},
				hubClient: interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).WithObjects(b).WithStatusSubresource(b).Build(), interceptor.Funcs{
					Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
						if tt.object != nil {
							return tt.object
						}
						err := c.Patch(ctx, obj, patch, opts...)
						obj.SetGeneration(obj.GetGeneration() + 1) // as a real server does
						return err
					},
					SubResourcePatch: func(ctx context.Context, c client.Client, name string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
						if tt.status != nil {
							return tt.status
						}
						return c.SubResource(name).Patch(ctx, obj, patch, opts...)
					},
				}),
			}
			r.snapshot.Set(c)
			_, err = r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(b)})
			g.Expect(err != nil).To(Equal(tt.object != nil || tt.status != nil))
			g.Expect(r.ledger.All(clock.Now()).Of("m").Pods).To(Equal(tt.want))
			g.Expect(len(r.assumed) > 0).To(Equal(tt.want > 0))
			g.Expect(told).To(Equal(tt.told))
		})
	}
}

// TestTheNextBetterPlaceHasToLastAsLong checks that failbackSince is reset when the binding has moved to the preferred cluster, and not
// before.
func TestTheNextBetterPlaceHasToLastAsLong(t *testing.T) {
	t.Parallel()
	for name, failed := range map[string]error{
		"it is written":  nil,
		"it is not, yet": apierrors.NewConflict(schema.GroupResource{Resource: "resourcebindings"}, "web", nil),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			scheme, err := kube.NewScheme()
			g.Expect(err).NotTo(HaveOccurred())
			applying := &policyv1alpha1.Placement{ClusterAffinities: []policyv1alpha1.ClusterAffinityTerm{{AffinityName: "first"}, {AffinityName: "second"}}}
			applied, err := json.Marshal(applying)
			g.Expect(err).NotTo(HaveOccurred())
			clock := testclock.NewFakePassiveClock(time.Unix(1000, 0))
			b := &workv1alpha2.ResourceBinding{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: "shop", Name: "web", Generation: 1, Labels: map[string]string{contract.PropagationPolicyPermanentIDLabel: "id"},
					Annotations: map[string]string{contract.AppliedPlacementAnnotation: string(applied), contract.ReturnToPreferredAnnotation: "true"},
				},
				Spec: workv1alpha2.ResourceBindingSpec{
					Resource: workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment"}, Replicas: 2, Placement: applying,
					Clusters: []workv1alpha2.TargetCluster{{Name: "m", Replicas: 2}},
				},
				Status: workv1alpha2.ResourceBindingStatus{SchedulerObservedAffinityName: "second", LastScheduledTime: &metav1.Time{Time: clock.Now()}},
			}
			c := builder.MakeCluster("m").Obj()
			c.Status.APIEnablements = []clusterv1alpha1.APIEnablement{{GroupVersion: "apps/v1", Resources: []clusterv1alpha1.APIResource{{Kind: "Deployment"}}}}
			key := client.ObjectKeyFromObject(b)
			r := &reconciler{
				hubReader: fake.NewClientBuilder().WithScheme(scheme).Build(), kind: kube.ResourceBindings(), events: func(eventsink.Event) {}, clock: clock, settle: time.Minute, snapshot: &snapshot{}, ledger: reserve.New(),
				assumed: map[types.NamespacedName]placement{}, waiting: map[types.NamespacedName]string{},
				failbackSince: map[types.NamespacedName]time.Time{key: clock.Now().Add(-time.Minute)},
				hubClient: interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).WithObjects(b).WithStatusSubresource(b).Build(), interceptor.Funcs{
					SubResourcePatch: func(ctx context.Context, c client.Client, name string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
						if failed != nil {
							return failed
						}
						return c.SubResource(name).Patch(ctx, obj, patch, opts...)
					},
				}),
			}
			r.snapshot.Set(c)
			_, err = r.Reconcile(t.Context(), reconcile.Request{NamespacedName: key})
			g.Expect(err != nil).To(Equal(failed != nil))
			got := &workv1alpha2.ResourceBinding{}
			g.Expect(r.hubClient.Get(t.Context(), key, got)).To(Succeed())
			if failed != nil {
				g.Expect(r.failbackSince).To(HaveKey(key), "it goes on at once")
				return
			}
			g.Expect(got.Status.SchedulerObservedAffinityName).To(Equal("first"))
			g.Expect(r.failbackSince).To(BeEmpty())
		})
	}
}
