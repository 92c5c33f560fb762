package failover

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/adjust/failover/evict"
	"fairlead.dev/test/builder"
)

// TestConfirm holds what of a cluster is read live before an application leaves it, and when it stays after all.
func TestConfirm(t *testing.T) {
	t.Parallel()
	scheme, err := kube.NewScheme()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	cached := builder.MakeCluster("edge-1").Obj()
	cached.UID, cached.Spec.Taints = "1", []corev1.Taint{lost}
	another, cured := cached.DeepCopy(), cached.DeepCopy()
	another.UID, cured.Spec.Taints = "2", nil
	tests := map[string]struct {
		producer     string
		live         *clusterv1alpha1.Cluster
		wantWhole    bool
		wantConflict bool
	}{
		"it is removed": {producer: workv1alpha2.ProducerClusterRemoval, live: cached},
		"it is removed, and its taints count no more": {producer: workv1alpha2.ProducerClusterRemoval, live: cured},
		"it was removed, and has joined again":        {producer: workv1alpha2.ProducerClusterRemoval, live: another, wantConflict: true},
		"it was removed, and is gone":                 {producer: workv1alpha2.ProducerClusterRemoval},
		"it has the taint":                            {producer: workv1alpha2.ProducerTaintManager, live: cached, wantWhole: true},
		"it has the taint no more":                    {producer: workv1alpha2.ProducerTaintManager, live: cured, wantWhole: true, wantConflict: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			objects := fake.NewClientBuilder().WithScheme(scheme)
			if tt.live != nil {
				objects = objects.WithObjects(tt.live.DeepCopy())
			}
			whole := false
			reader := interceptor.NewClient(objects.Build(), interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
					_, metadata := obj.(*metav1.PartialObjectMetadata)
					whole = whole || !metadata
					return c.Get(ctx, key, obj, opts...)
				},
			})
			in := &scope{Input: evict.Input{Clusters: map[string]*clusterv1alpha1.Cluster{"edge-1": cached}}}
			err := (&reconciler{hubReader: reader}).confirm(t.Context(), in, &evict.Decision{Evictions: []evict.Eviction{
				{Cluster: "edge-1", Task: workv1alpha2.GracefulEvictionTask{FromCluster: "edge-1", Producer: tt.producer}},
			}})
			g.Expect(apierrors.IsConflict(err)).To(Equal(tt.wantConflict), "%v", err)
			g.Expect(err != nil).To(Equal(tt.wantConflict))
			g.Expect(whole).To(Equal(tt.wantWhole))
		})
	}
}
