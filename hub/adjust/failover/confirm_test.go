package failover

import (
	"context"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/adjust/failover/evict"
	"fairlead.dev/test/builder"
)

// TestConfirmEnds checks what is read live of the clusters whose state ends an eviction, whether they are few or many.
func TestConfirmEnds(t *testing.T) {
	t.Parallel()
	scheme, err := kube.NewScheme()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	cached := builder.MakeCluster("edge-1").Obj()
	cached.UID, cached.Finalizers = "1", []string{"some"}
	cached.Status.Conditions = []metav1.Condition{{Type: clusterv1alpha1.ClusterReady, Status: metav1.ConditionTrue}}
	as := func(change func(*clusterv1alpha1.Cluster)) *clusterv1alpha1.Cluster {
		out := cached.DeepCopy()
		change(out)
		return out
	}
	silent := func(c *clusterv1alpha1.Cluster) { c.Status.Conditions[0].Status = metav1.ConditionUnknown }
	tainted := func(c *clusterv1alpha1.Cluster) { c.Spec.Taints = []corev1.Taint{lost} }
	removed := func(c *clusterv1alpha1.Cluster) { c.DeletionTimestamp = &metav1.Time{Time: time.Unix(1000, 0)} }
	another := func(c *clusterv1alpha1.Cluster) { c.UID = "2" }
	tests := map[string]struct {
		cached, live *clusterv1alpha1.Cluster
		wantConflict bool
	}{
		"it is as it was":                        {cached: cached, live: cached},
		"it is silent by now":                    {cached: cached, live: as(silent), wantConflict: true},
		"it is heard from by now":                {cached: as(silent), live: cached, wantConflict: true},
		"it is tainted by now":                   {cached: cached, live: as(tainted), wantConflict: true},
		"it is being removed by now":             {cached: cached, live: as(removed), wantConflict: true},
		"it is another":                          {cached: cached, live: as(another), wantConflict: true},
		"it is no more":                          {cached: cached, wantConflict: true},
		"it was no more":                         {},
		"it was no more, and has joined":         {live: cached, wantConflict: true},
		"it was being removed, and is silent":    {cached: as(removed), live: as(func(c *clusterv1alpha1.Cluster) { removed(c); silent(c) })},
		"it was being removed, and is gone":      {cached: as(removed)},
		"it was being removed, and joined again": {cached: as(removed), live: as(another), wantConflict: true},
	}
	for name, tt := range tests {
		for _, others := range []int{0, readSingly} {
			t.Run(fmt.Sprintf("%s, with %d others", name, others), func(t *testing.T) {
				t.Parallel()
				g := NewWithT(t)
				objects := fake.NewClientBuilder().WithScheme(scheme)
				in := &scope{Input: evict.Input{Clusters: map[string]*clusterv1alpha1.Cluster{}}}
				d := &evict.Decision{RestsOn: sets.New("edge-1")}
				for i := range others {
					c := builder.MakeCluster(fmt.Sprint("other-", i)).Obj()
					objects, in.Clusters[c.Name] = objects.WithObjects(c.DeepCopy()), c
					d.RestsOn.Insert(c.Name)
				}
				if tt.live != nil {
					objects = objects.WithObjects(tt.live.DeepCopy())
				}
				if tt.cached != nil {
					in.Clusters["edge-1"] = tt.cached
				}
				reader := objects.Build()
				err := (&reconciler{hubReader: reader, live: &liveList{hubReader: reader, clock: clock.RealClock{}}}).confirm(t.Context(), in, d)
				g.Expect(apierrors.IsConflict(err)).To(Equal(tt.wantConflict), "%v", err)
				g.Expect(err != nil).To(Equal(tt.wantConflict))
			})
		}
	}
}

// TestManyShareAList checks that applications leaving a cluster together share one list of the other clusters, which is
// read again as soon as it is older than a moment or differs from the cache.
func TestManyShareAList(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	scheme, err := kube.NewScheme()
	g.Expect(err).NotTo(HaveOccurred())
	lists := 0
	objects := fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			lists++
			return c.List(ctx, list, opts...)
		},
	})
	in := &scope{Input: evict.Input{Clusters: map[string]*clusterv1alpha1.Cluster{}}}
	d := &evict.Decision{RestsOn: sets.Set[string]{}}
	for i := range readSingly + 1 {
		c := builder.MakeCluster(fmt.Sprint("edge-", i)).Obj()
		c.UID = types.UID(c.Name)
		objects, in.Clusters[c.Name] = objects.WithObjects(c.DeepCopy()), c
		d.RestsOn.Insert(c.Name)
	}
	hub, now := objects.Build(), clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	r := &reconciler{hubReader: hub, live: &liveList{hubReader: hub, clock: now}}
	for range 200 {
		g.Expect(r.confirm(t.Context(), in, d)).To(Succeed())
	}
	g.Expect(lists).To(Equal(1))

	live := in.Clusters["edge-7"].DeepCopy()
	g.Expect(hub.Get(t.Context(), client.ObjectKeyFromObject(live), live)).To(Succeed())
	live.Spec.Taints = []corev1.Taint{lost}
	g.Expect(hub.Update(t.Context(), live)).To(Succeed())
	now.SetTime(now.Now().Add(listFor))
	g.Expect(apierrors.IsConflict(r.confirm(t.Context(), in, d))).To(BeTrue(), "the taint is seen")
	in.Clusters["edge-7"] = live
	g.Expect(r.confirm(t.Context(), in, d)).To(Succeed(), "the cache has caught up")
	g.Expect(lists).To(Equal(3))
}

// TestConfirm checks what is read live of a cluster before an application leaves it, and when the application stays
// after all.
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
