package cluster

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/test/builder"
)

// TestOnlyWorksOfTheNamespaceThatGoesAreReleased has a cache that shows a terminating execution namespace, which may be
// gone or recreated by now.
func TestOnlyWorksOfTheNamespaceThatGoesAreReleased(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		next, gone, released bool
	}{
		"it goes still":    {released: true},
		"it was made anew": {next: true},
		"it is gone":       {gone: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, ctx := NewWithT(t), t.Context()
			scheme, err := kube.NewScheme()
			g.Expect(err).NotTo(HaveOccurred())
			cluster := builder.MakeCluster("m").Obj()
			work := builder.MakeWork("m", "web").Obj()
			work.Finalizers = []string{contract.ExecutionFinalizer}
			saw := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
				Name: work.Namespace, UID: "former", Finalizers: []string{"kubernetes"}, DeletionTimestamp: new(metav1.Now()),
			}}
			cached := fake.NewClientBuilder().WithScheme(scheme).WithObjects(cluster, saw, work).WithStatusSubresource(cluster).Build()
			live := fake.NewClientBuilder().WithScheme(scheme).WithObjects(work.DeepCopy())
			is := saw.DeepCopy()
			if tt.next {
				is.UID, is.DeletionTimestamp = "next", nil
			}
			if !tt.gone {
				live.WithObjects(is)
			}
			r, err := New(cached, live.Build(), Deps{
				ExecutionNamespacePrefix: contract.DefaultExecutionNamespacePrefix, Clock: clocktesting.NewFakeClock(time.Now()), Events: func(eventsink.Event) {},
			})
			g.Expect(err).NotTo(HaveOccurred())
			_, err = r.ensureNamespace(ctx, cluster)
			g.Expect(err == nil).To(Equal(tt.released))
			g.Expect(cached.Get(ctx, client.ObjectKeyFromObject(work), work)).To(Succeed())
			g.Expect(len(work.Finalizers) == 0).To(Equal(tt.released))
		})
	}
}
