package detector

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/kube/watchset"
	"fairlead.dev/hub/flow/detector/claim"
	"fairlead.dev/test/filled"
)

// counted is a queue that counts the requests.
type counted struct {
	workqueue.TypedRateLimitingInterface[request]
	n int
}

func (c *counted) Add(request)                     { c.n++ }
func (c *counted) AddAfter(request, time.Duration) {}

// unheard is a queue without workers that counts what was added.
type unheard struct {
	workqueue.TypedRateLimitingInterface[request]
	n atomic.Int64
}

func (u *unheard) Add(request)                   { u.n.Add(1) }
func (*unheard) AddAfter(request, time.Duration) {}

// full returns a detector on a hub of some size, which watches Deployments. Only the requests of the detector itself are counted. Requests
// from watches come from other goroutines and are dropped. They are awaited, since they take time and memory.
func full(tb testing.TB, size filled.Fleet) (*Reconciler, *counted) {
	tb.Helper()
	var objects []client.Object
	for i := range size.Bindings {
		objects = append(objects, size.Template(i), size.Binding(i))
	}
	return fullOf(tb, objects...)
}

// fullOf returns a detector on a hub with these objects.
func fullOf(tb testing.TB, objects ...client.Object) (*Reconciler, *counted) {
	tb.Helper()
	hub := filled.New(tb, cache.Options{DefaultTransform: cache.TransformStripManagedFields()}, objects...)
	if err := addIndexes(tb.Context(), hub.Cache); err != nil {
		tb.Fatal(err)
	}
	asked, shown := &counted{}, &unheard{}
	r := &Reconciler{hubClient: hub.Client, liveReader: hub.Client, queue: &queue{requests: asked}, clock: clock.RealClock{}, kinds: newKinds(watchset.Deps{
		Informers: watchset.NewMetadataInformers(hub.Cache), Cache: hub.Cache, Live: hub.Client, Mapper: hub.Mapper, Clock: clock.RealClock{},
		Served: watchset.NewServedKinds(func(context.Context) ([]*metav1.APIResourceList, error) {
			return []*metav1.APIResourceList{{GroupVersion: "apps/v1", APIResources: []metav1.APIResource{{Name: "deployments", Kind: "Deployment"}}}}, nil
		}, clock.RealClock{}),
	}, &queue{requests: shown})}
	if _, err := r.kinds.ensure(tb.Context(), deployments()); err != nil {
		tb.Fatal(err)
	}
	var templates int64
	for _, obj := range objects {
		if obj.GetObjectKind().GroupVersionKind() == deployments() {
			templates++
		}
	}
	NewWithT(tb).Eventually(shown.n.Load, "1m", "1ms").Should(Equal(templates))
	return r, asked
}

func deployments() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
}

// BenchmarkPolicyChanges measures a change of a policy that has a hundred of the templates: finding the templates that it has, and those
// that it selects by kind, or by a name in all namespaces.
func BenchmarkPolicyChanges(b *testing.B) {
	for _, size := range []filled.Fleet{{Clusters: 1, Bindings: 12500}, {Clusters: 1, Bindings: 50000}} {
		r, asked := full(b, size)
		policy := &policyv1alpha1.ClusterPropagationPolicy{ObjectMeta: metav1.ObjectMeta{Name: size.PolicyOf(0)}}
		policy.Spec.ResourceSelectors = []policyv1alpha1.ResourceSelector{{APIVersion: "apps/v1", Kind: "Deployment"}}
		byName := policy.DeepCopy()
		byName.Spec.ResourceSelectors[0].Name = size.Template(0).Name
		for _, tt := range []struct {
			name string
			do   func() error
		}{
			{"claimed", func() error {
				_, err := r.askForClaimed(b.Context(), claim.By(policy))
				return err
			}},
			{"selected", func() error { return r.askForSelected(policy) }},
			{"named", func() error { return r.askForSelected(byName) }},
			{"needed", func() error {
				_, err := r.needed(b.Context(), deployments())
				return err
			}},
		} {
			b.Run(fmt.Sprintf("%s/%d", tt.name, size.Bindings), func(b *testing.B) {
				asked.n = 0
				b.ReportAllocs()
				cpu := filled.ReportCPU(b)
				for b.Loop() {
					if err := tt.do(); err != nil {
						b.Fatal(err)
					}
				}
				cpu()
				b.ReportMetric(float64(asked.n)/float64(b.N), "templates/op")
			})
		}
	}
}
