package registration

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	coordinationv1 "k8s.io/api/coordination/v1"
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
)

// TestAnAgentHeardAtOnceIsHeard has an agent renew its lease before the join command looks at it for the first time: it does not
// renew it again for minutes.
func TestAnAgentHeardAtOnceIsHeard(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := &Credentials{clock: clock.RealClock{}}
	c.who.Cluster = "shop"
	hub := fakeHub(t, interceptor.Funcs{})
	before := c.lastHeard(t.Context(), hub)
	g.Expect(before).To(HaveValue(BeZero()), "the hub never heard an agent of this cluster")

	heard := metav1.NewMicroTime(time.Now())
	g.Expect(hub.Create(t.Context(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: contract.ClusterNamespace, Name: "shop"}, Spec: coordinationv1.LeaseSpec{RenewTime: &heard},
	})).To(Succeed())
	g.Expect(hub.Create(t.Context(), &clusterv1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: "shop", Annotations: map[string]string{contract.ExecutionNamespaceAnnotation: "karmada-es-shop"}},
		Status:     clusterv1alpha1.ClusterStatus{Conditions: []metav1.Condition{{Type: clusterv1alpha1.ClusterReady, Status: metav1.ConditionTrue}}},
	})).To(Succeed())
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	g.Expect(c.awaitReady(ctx, hub, before, func(string) {})).To(Succeed())

	// Of an earlier agent that report is old.
	earlier := c.lastHeard(t.Context(), hub)
	ended, end := context.WithCancel(t.Context())
	end()
	g.Expect(c.awaitReady(ended, hub, earlier, func(string) {})).To(MatchError(errStuck))
}

// TestLastHeardTellsNeverFromUnknown distinguishes a cluster without rights, which has just been created, from a hub that fails.
func TestLastHeardTellsNeverFromUnknown(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err  error
		want *metav1.MicroTime
	}{
		"the hub has not given the rights yet": {err: apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, "shop", nil), want: &metav1.MicroTime{}},
		"the hub fails":                        {err: errors.New("the hub is away")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &Credentials{clock: clock.RealClock{}}
			c.who.Cluster = "shop"
			hub := fakeHub(t, interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
				return tc.err
			}})
			NewWithT(t).Expect(c.lastHeard(t.Context(), hub)).To(Equal(tc.want))
		})
	}
}

func fakeHub(t *testing.T, funcs interceptor.Funcs) client.Client {
	t.Helper()
	scheme, err := kube.NewScheme()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(funcs).Build()
}
