package scheduler

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/common/quota"
	"fairlead.dev/hub/flow/scheduler/hints"
	"fairlead.dev/hub/flow/scheduler/reserve"
	"fairlead.dev/test/filled"
)

// sizes are a quarter and all of the fleet that one hub must support.
func sizes() []filled.Fleet {
	return []filled.Fleet{{Clusters: 1250, Bindings: 12500}, {Clusters: 5000, Bindings: 50000}}
}

// custom is a kind that all clusters of a fleet serve.
func custom() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "group-0.example.com", Version: "v1", Kind: "Thing0"}
}

// definition is what a hub has of that kind: the binding of its definition, which all clusters of a fleet got from it, and one of its
// objects, by which the hub knows the kind.
func definition(size filled.Fleet) []client.Object {
	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "thing"}}
	object.SetGroupVersionKind(custom())
	b := &workv1alpha2.ClusterResourceBinding{}
	b.Name = contract.BindingName("CustomResourceDefinition", "thing0s."+custom().Group)
	for i := range size.Clusters {
		b.Spec.Clusters = append(b.Spec.Clusters, workv1alpha2.TargetCluster{Name: filled.ClusterName(i)})
		b.Status.AggregatedStatus = append(b.Status.AggregatedStatus, workv1alpha2.AggregatedStatusItem{
			ClusterName: filled.ClusterName(i), Applied: true, Health: workv1alpha1.Healthy,
			Status: &runtime.RawExtension{Raw: []byte(`{"conditions":[{"type":"Established","status":"True"}]}`)},
		})
	}
	return []client.Object{b, object}
}

// full is a scheduler on a hub of some size.
func full(b *testing.B, size filled.Fleet) *reconciler {
	b.Helper()
	return filledWith(b, append(size.Objects(), definition(size)...))
}

// filledWith is a scheduler on a hub that has some objects.
func filledWith(b *testing.B, objects []client.Object) *reconciler {
	b.Helper()
	hub := filled.New(b, cache.Options{DefaultTransform: cache.TransformStripManagedFields()}, objects...)
	r := &reconciler{
		hubClient: hub.Client, hubReader: hub.Client, kind: kube.ResourceBindings(), events: func(eventsink.Event) {},
		clock: clocktesting.NewFakePassiveClock(time.Now()), snapshot: &snapshot{}, ledger: reserve.New(), settle: DefaultSettle,
		assumed: map[types.NamespacedName]placement{}, accounts: map[string]*quota.Account{}, waiting: map[types.NamespacedName]string{},
		notPreferred: sets.Set[types.NamespacedName]{}, failbackSince: map[types.NamespacedName]time.Time{},
	}
	clusters, err := kube.Clusters(b.Context(), hub.Client)
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range clusters {
		r.keep(c)
	}
	return r
}

// counted is a queue that counts requests.
type counted struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	n int
}

func (c *counted) Add(reconcile.Request)                     { c.n++ }
func (c *counted) AddAfter(reconcile.Request, time.Duration) {}

// BenchmarkClusterChanges is what it costs to find which bindings changes of clusters concern: of one that has more room, of
// a quarter of all that are lost, of the same when they are back, when they serve a kind of which there is nothing, and when
// an API of theirs does not answer.
func BenchmarkClusterChanges(b *testing.B) {
	for _, size := range sizes() {
		r := full(b, size)
		all := r.snapshot.Clusters()
		changes := func(n int, change func(*clusterv1alpha1.Cluster)) []hints.Change {
			out := make([]hints.Change, n)
			for i := range out {
				after := all[4*i].DeepCopy() // those of one region
				change(after)
				out[i] = hints.Of(all[4*i], after)
			}
			return out
		}
		lost := func(c *clusterv1alpha1.Cluster) {
			c.Generation++
			c.Spec.Taints = []corev1.Taint{{Key: "lost", Effect: corev1.TaintEffectNoSchedule}}
		}
		back := changes(size.Clusters/4, lost)
		for i := range back {
			back[i] = hints.Of(back[i].After, back[i].Before)
		}
		for _, tt := range []struct {
			name    string
			changes []hints.Change
			// nobody says that they concern no binding.
			nobody bool
		}{
			{name: "roomier", changes: changes(1, func(c *clusterv1alpha1.Cluster) {
				c.Status.ResourceSummary.Allocatable[corev1.ResourceCPU] = resource.MustParse("64")
			})},
			{name: "lost", changes: changes(size.Clusters/4, lost)},
			{name: "back", changes: back},
			{name: "another API", nobody: true, changes: changes(size.Clusters/4, func(c *clusterv1alpha1.Cluster) {
				c.Status.APIEnablements = append(c.Status.APIEnablements, clusterv1alpha1.APIEnablement{
					GroupVersion: "shop.example.com/v1", Resources: []clusterv1alpha1.APIResource{{Name: "tills", Kind: "Till"}},
				})
			})},
			{name: "fewer APIs than listed", nobody: true, changes: changes(size.Clusters/4, func(c *clusterv1alpha1.Cluster) {
				c.Status.APIEnablements = c.Status.APIEnablements[1:]
				meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{
					Type: clusterv1alpha1.ClusterCompleteAPIEnablements, Status: metav1.ConditionFalse, Reason: clusterv1alpha1.ReasonAPIEnablementsPartial,
				})
			})},
		} {
			b.Run(fmt.Sprintf("%s/%d", tt.name, size.Bindings), func(b *testing.B) {
				q := &counted{}
				b.ReportAllocs()
				cpu := filled.ReportCPU(b)
				for b.Loop() {
					for _, c := range tt.changes {
						r.wake(c, q)
					}
					if err := r.wakeConcerned(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
				cpu()
				b.ReportMetric(float64(q.n)/float64(b.N), "bindings/op")
				if tt.nobody && q.n > 0 {
					b.Errorf("they concern %d bindings", q.n/b.N)
				}
			})
		}
	}
}

// BenchmarkDecisions is what the decision on a binding costs: on one that stays, on one whose policy was edited, and on
// both of a kind whose definition all clusters got from the hub.
func BenchmarkDecisions(b *testing.B) {
	for _, size := range sizes() {
		r := full(b, size)
		for i := range 4 {
			edited, ofCustom := i%2 == 1, i/2 == 1
			b.Run(fmt.Sprintf("custom=%t/edited=%t/%d", ofCustom, edited, size.Clusters), func(b *testing.B) {
				i := 0
				b.ReportAllocs()
				cpu := filled.ReportCPU(b)
				for b.Loop() {
					binding := size.Binding(i % size.Bindings)
					if i++; edited {
						binding.Spec.Placement.ClusterTolerations[0].Key = "another"
					}
					if ofCustom {
						binding.Spec.Resource.APIVersion, binding.Spec.Resource.Kind = custom().ToAPIVersionAndKind()
					}
					if _, _, _, err := r.decide(b.Context(), binding); err != nil {
						b.Fatal(err)
					}
				}
				cpu()
			})
		}
	}
}

// BenchmarkStays measures reconciling a binding that stays where it is, from its event until there is nothing to write.
func BenchmarkStays(b *testing.B) {
	for _, size := range sizes() {
		r := full(b, size)
		keys := make([]reconcile.Request, size.Bindings)
		for i := range keys {
			keys[i].NamespacedName = client.ObjectKeyFromObject(size.Binding(i))
		}
		b.Run(strconv.Itoa(size.Clusters), func(b *testing.B) {
			i := 0
			b.ReportAllocs()
			cpu := filled.ReportCPU(b)
			for b.Loop() {
				if _, err := r.Reconcile(b.Context(), keys[i%len(keys)]); err != nil {
					b.Fatal(err)
				}
				i++
			}
			cpu()
		})
	}
}

// BenchmarkOthersAsk measures the failover stage's question whether a binding of a lost region could be placed elsewhere.
func BenchmarkOthersAsk(b *testing.B) {
	for _, size := range sizes() {
		r := full(b, size)
		s := &Scheduler{namespaced: r}
		b.Run(strconv.Itoa(size.Clusters), func(b *testing.B) {
			i := 0
			b.ReportAllocs()
			cpu := filled.ReportCPU(b)
			for b.Loop() {
				n := i % size.Bindings
				i++
				if _, err := s.CouldPlaceWithout(b.Context(), size.Binding(n), []string{size.ClusterOf(n)}); err != nil {
					b.Fatal(err)
				}
			}
			cpu()
		})
	}
}
