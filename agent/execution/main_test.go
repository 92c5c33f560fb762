package execution_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/test/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }

// waitTimeout bounds waiting; nothing here takes that long.
const waitTimeout = time.Minute

// memberDiscovery is the discovery client of the member, which may hide kinds.
type memberDiscovery struct {
	*discovery.DiscoveryClient

	starting *atomic.Bool
}

func (d memberDiscovery) Ready(context.Context) error {
	if d.starting.Load() {
		return errors.New("not ready")
	}
	return nil
}

// events records the events that the agent emitted.
type events struct {
	mu    sync.Mutex
	notes []string
}

func (e *events) sink(event eventsink.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.notes = append(e.notes, event.Reason+": "+event.Note)
}

func (e *events) all() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.notes)
}

// reports is a Reporter that remembers the conditions of Works.
type reports struct {
	mu         sync.Mutex
	conditions map[types.NamespacedName][]metav1.Condition
	count      map[types.NamespacedName]int
	drift      map[types.NamespacedName][]workv1alpha1.Drift
}

func newReports() *reports {
	return &reports{
		conditions: map[types.NamespacedName][]metav1.Condition{},
		count:      map[types.NamespacedName]int{},
		drift:      map[types.NamespacedName][]workv1alpha1.Drift{},
	}
}

func (r *reports) Report(
	work *workv1alpha1.Work, conditions []metav1.Condition, _ []workv1alpha1.ResourceIdentifier, _ []*unstructured.Unstructured, _ []bool,
) {
	r.mu.Lock()
	defer r.mu.Unlock()
	name := client.ObjectKeyFromObject(work)
	for _, c := range conditions {
		c.ObservedGeneration = work.Generation
		known := r.conditions[name]
		meta.SetStatusCondition(&known, c)
		r.conditions[name] = known
	}
	r.count[name]++
}

// forget drops the reports about a former Work of a name.
func (r *reports) forget(work types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.conditions, work)
}

func (*reports) Observe(types.NamespacedName, *unstructured.Unstructured) {}
func (r *reports) Drifted(work types.NamespacedName, drift workv1alpha1.Drift) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drift[work] = append(r.drift[work], drift)
}

// drifted returns the drift reported for a Work.
func (r *reports) drifted(work *workv1alpha1.Work) []workv1alpha1.Drift {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.drift[client.ObjectKeyFromObject(work)])
}

func (*reports) Unseen(types.NamespacedName, workv1alpha1.ResourceIdentifier) {}

func (*reports) Gone(types.NamespacedName, *unstructured.Unstructured) {}

func (r *reports) applied(work *workv1alpha1.Work) metav1.Condition {
	return r.condition(work, workv1alpha1.WorkApplied)
}

func (r *reports) condition(work *workv1alpha1.Work, kind string) metav1.Condition {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := meta.FindStatusCondition(r.conditions[client.ObjectKeyFromObject(work)], kind)
	if c == nil {
		return metav1.Condition{}
	}
	return *c
}
