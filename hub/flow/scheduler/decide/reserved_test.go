package decide_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/hub/flow/scheduler/decide"
	"fairlead.dev/hub/flow/scheduler/reserve"
)

// TestMemoFollowsReservations decides on random applications while their replicas are reserved, released, reported and expire, and while
// clusters change, join and leave. Each decision and each cluster's capacity must be the same as without a Memo.
func TestMemoFollowsReservations(t *testing.T) {
	t.Parallel()
	for seed := range uint64(10) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			g, w := NewWithT(t), &reserving{changing: &changing{Rand: rand.New(rand.NewPCG(seed, 2))}, ledger: reserve.New(), now: time.Unix(1000, 0)}
			for range 12 {
				w.join()
			}
			memo, outcomes, reserved := &decide.Memo{}, sets.Set[decide.Outcome]{}, 0
			for range 300 {
				w.change()
				w.reserve()
				in := w.input()
				in.Assumed = w.ledger.All(w.now)
				for _, c := range in.Clusters {
					if in.Assumed.Of(c.Name).Pods > 0 {
						reserved++
					}
				}
				want := decide.Decide(in)
				in.Memo = memo
				got := decide.Decide(in)
				for _, d := range []*decide.Decision{&want, &got} {
					for i := range d.Attempts {
						d.Attempts[i].Verdicts = nil
					}
				}
				g.Expect(got).To(BeComparableTo(want))
				outcomes.Insert(got.Outcome)
				if got.Outcome == decide.Scheduled {
					w.assign(in.Spec, got.Targets)
				}
			}
			g.Expect(outcomes.HasAll(decide.Scheduled, decide.Unschedulable)).To(BeTrue())
			g.Expect(reserved).To(BeNumerically(">", 600))
		})
	}
}

// reserving holds clusters that change at random, and a ledger of what is reserved in them.
type reserving struct {
	*changing

	ledger *reserve.Ledger
	now    time.Time
	pods   int64
}

// assign reserves what the application gets. The next decision may be about the same application.
func (w *reserving) assign(spec *workv1alpha2.ResourceBindingSpec, targets []workv1alpha2.TargetCluster) {
	for _, p := range reserve.Parts(spec, spec.Clusters, targets) {
		w.ledger.Assign(w.binding(), p.Before, p.After, p.Request, w.now)
	}
	w.spec.Clusters = targets
}

func (w *reserving) binding() types.NamespacedName {
	return types.NamespacedName{Namespace: fmt.Sprintf("ns-%d", w.IntN(4)), Name: fmt.Sprint(w.IntN(9))}
}

// reserve makes a random change to the reservations, or none.
func (w *reserving) reserve() {
	cluster := w.clusters[w.IntN(len(w.clusters))]
	some := []workv1alpha2.TargetCluster{target(cluster.Name, int32(1+w.IntN(3)))}
	request := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(w.oneOf("100m", "500m"))}
	switch w.IntN(8) {
	case 0: // the new pods are those that were assigned, or somebody else's
		w.pods += w.Int64N(3)
		reports := cluster.DeepCopy()
		reports.Status.ResourceSummary.Allocated = corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(w.pods, resource.DecimalSI)}
		w.ledger.Report(reports)
	case 1:
		w.ledger.Leave(cluster.Name)
	case 2:
		w.ledger.Forget(w.binding())
	case 3:
		w.now = w.now.Add(time.Duration(w.Int64N(int64(reserve.Lifetime / 2))))
	case 4:
		w.ledger.Assign(w.binding(), some, nil, request, w.now)
	case 5, 6:
		w.ledger.Assign(w.binding(), nil, some, request, w.now)
	}
}
