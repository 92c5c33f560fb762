package scenario

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/test/story"
)

// begin is the start time of every story.
func begin() time.Time { return time.Date(2026, 5, 1, 14, 0, 0, 0, time.UTC) }

// world is the complete state: the objects in the hub's API server, the members, and the hub. Objects in the API server
// are replaced and never modified, so the same pointer means an unchanged object.
type world struct {
	story.Record

	now      time.Time
	rand     *rand.Rand // nil for the order of the flow
	clusters map[string]*clusterv1alpha1.Cluster
	leases   map[string]time.Time
	policies []policyv1alpha1.ClusterTaintPolicy
	apps     map[string]*app
	members  map[string]*member
	hub      *hub // nil while it is down
	// due are the times at which a stage wants to run again.
	due []time.Time
}

func newWorld(r *rand.Rand) *world {
	return &world{
		now: begin(), rand: r, clusters: map[string]*clusterv1alpha1.Cluster{}, leases: map[string]time.Time{},
		policies: []policyv1alpha1.ClusterTaintPolicy{{ObjectMeta: metav1.ObjectMeta{Name: "lost"}, Spec: policyv1alpha1.ClusterTaintPolicySpec{
			AddOnConditions:    []policyv1alpha1.MatchCondition{{ConditionType: "Ready", Operator: policyv1alpha1.MatchConditionNotIn, StatusValues: []metav1.ConditionStatus{"True"}}},
			RemoveOnConditions: []policyv1alpha1.MatchCondition{{ConditionType: "Ready", Operator: policyv1alpha1.MatchConditionIn, StatusValues: []metav1.ConditionStatus{"True"}}},
			Taints:             []policyv1alpha1.ClusterTaint{{Key: "lost", Effect: "NoExecute"}},
		}}},
		apps: map[string]*app{}, members: map[string]*member{}, hub: newHub(begin()),
	}
}

// Advance lets time pass up to a duration since the beginning.
func (w *world) Advance(until time.Duration) { w.advance(begin().Add(until)) }

// advance lets time pass up to a time, and stops whenever a stage is due.
func (w *world) advance(until time.Time) {
	for {
		w.settle()
		next := until
		for _, at := range w.due {
			if at.After(w.now) && at.Before(next) {
				next = at
			}
		}
		if !next.After(w.now) {
			return
		}
		w.now, w.due = next, nil
	}
}

// again schedules another run of the stages.
func (w *world) again(at time.Time) { w.due = append(w.due, at) }

func (w *world) after(wait time.Duration) {
	if wait > 0 {
		w.again(w.now.Add(wait))
	}
}

// rounds is the number of rounds at one instant after which the stages are considered not to settle.
const rounds = 60

// settle runs the stages until none changes anything.
func (w *world) settle() {
	for range rounds {
		turns := []func() bool{w.agents}
		if w.hub != nil {
			turns = append(turns, w.judge, w.suspect, w.evict, w.schedule, w.bind, w.report, w.remove)
		}
		if w.rand != nil {
			w.rand.Shuffle(len(turns), func(i, j int) { turns[i], turns[j] = turns[j], turns[i] })
		}
		changed := false
		for _, turn := range turns {
			if turn() {
				changed = true
				w.check()
			}
		}
		if !changed {
			w.checkSettled()
			return
		}
	}
	w.breaks("the stages do not come to an end")
}

// tell records an event.
func (w *world) tell(format string, args ...any) {
	fmt.Fprintf(&w.Trace, "%8s  %s\n", w.now.Sub(begin()), fmt.Sprintf(format, args...))
}

// breaks records a violated property.
func (w *world) breaks(format string, args ...any) {
	w.Break(w.now.Sub(begin()), format, args...)
}

func (w *world) list() []*clusterv1alpha1.Cluster {
	out := make([]*clusterv1alpha1.Cluster, 0, len(w.clusters))
	for _, name := range names(w.clusters) {
		out = append(out, w.clusters[name])
	}
	return out
}

// inputs are the input objects of a stage for an application.
type inputs struct {
	template *unstructured.Unstructured
	binding  *workv1alpha2.ResourceBinding
	clusters map[string]*clusterv1alpha1.Cluster
	works    map[string]*workv1alpha1.Work
}

func (w *world) inputs(a *app) inputs {
	return inputs{template: a.template, binding: a.binding, clusters: maps.Clone(w.clusters), works: maps.Clone(a.works)}
}

// unchanged reports whether the inputs of a stage are the same as before. If time is not one of its inputs, the stage
// has nothing to do, which is so for most runs in a story.
func (w *world) unchanged(a *app, had inputs) bool {
	return had.template == a.template && had.binding == a.binding && maps.Equal(had.clusters, w.clusters) && maps.Equal(had.works, a.works)
}

// equal compares two values with Kubernetes' semantic equality, in which nil and empty lists are equal. That takes most
// of the time of a story, so identical values are detected first.
func equal[T any](a, b T) bool { return reflect.DeepEqual(a, b) || equality.Semantic.DeepEqual(a, b) }

func names[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }
