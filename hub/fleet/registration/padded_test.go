package registration

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/hub/fleet/registration/grant"
	"fairlead.dev/hub/fleet/registration/record"
)

// TestAnAgentInTheWayOfItsEndIsLockedOutFirst forgets a cluster whose agent, as long as it has any rights, keeps the
// hub from writing to the Cluster: it fills its status, or writes so often that everybody else gets conflicts.
func TestAnAgentInTheWayOfItsEndIsLockedOutFirst(t *testing.T) {
	t.Parallel()
	const room = 10_000
	cases := map[string]func(encoded []byte, hasRights bool) error{
		"a status that leaves no room": func(encoded []byte, _ bool) error {
			if len(encoded) > room {
				return &apierrors.StatusError{ErrStatus: metav1.Status{Code: 500, Message: "etcdserver: request is too large"}}
			}
			return nil
		},
		"a status that is written all the time": func(_ []byte, hasRights bool) error {
			if hasRights {
				return apierrors.NewConflict(schema.GroupResource{Resource: "clusters"}, "padder", nil)
			}
			return nil
		},
	}
	for name, refuse := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			scheme, err := kube.NewScheme()
			g.Expect(err).NotTo(HaveOccurred())
			cluster := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "padder", UID: "1", Finalizers: []string{contract.ClusterFinalizer}}}
			cluster.Spec.ID = "member-of-padder"
			cluster.Status.KubernetesVersion = strings.Repeat("x", room)
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "karmada-es-padder", UID: "2"}}
			rights := grant.To(cluster, namespace.Name)
			hasRights := func(ctx context.Context, c client.Client) bool {
				for _, right := range bindingsOf(rights) {
					if c.Get(ctx, client.ObjectKeyFromObject(right), right) == nil {
						return true
					}
				}
				return false
			}
			hub := fake.NewClientBuilder().WithScheme(scheme).WithObjects(cluster, namespace).WithStatusSubresource(cluster).WithInterceptorFuncs(interceptor.Funcs{
				Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
					if obj.GetName() == cluster.Name {
						latest := &clusterv1alpha1.Cluster{}
						g.Expect(c.Get(ctx, client.ObjectKeyFromObject(cluster), latest)).To(Succeed())
						encoded, err := json.Marshal(latest)
						g.Expect(err).NotTo(HaveOccurred())
						if err := refuse(encoded, hasRights(ctx, c)); err != nil {
							return err
						}
					}
					return c.Patch(ctx, obj, patch, opts...)
				},
			}).Build()
			r := &Rights{hubClient: hub, hubReader: hub, prefix: contract.DefaultExecutionNamespacePrefix, events: func(eventsink.Event) {}, clock: clock.RealClock{}}
			g.Expect(hub.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: contract.ClusterNamespace}})).To(Succeed())
			_, err = r.Reconcile(t.Context(), cluster.DeepCopy())
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(hasRights(t.Context(), hub)).To(BeTrue())

			read := &clusterv1alpha1.Cluster{}
			g.Expect(hub.Get(t.Context(), client.ObjectKeyFromObject(cluster), read)).To(Succeed())
			before := read.DeepCopy()
			g.Expect(Forget(t.Context(), hub, hub, read, "ann", time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))).To(Succeed())
			g.Expect(hasRights(t.Context(), hub)).To(BeFalse())
			g.Expect(hub.Get(t.Context(), client.ObjectKeyFromObject(cluster), read)).To(Succeed())
			g.Expect(record.IsRetired(read.Annotations)).To(BeTrue())
			g.Expect(read.DeletionTimestamp).NotTo(BeNil())

			// The stage has not seen the mark yet, and finds rights missing.
			_, err = r.Reconcile(t.Context(), before)
			g.Expect(err).To(Or(Not(HaveOccurred()), Satisfy(apierrors.IsConflict)), "to tell of it, it has to have heard")
			g.Expect(hasRights(t.Context(), hub)).To(BeFalse(), "while the name is kept nothing is given")
		})
	}
}
