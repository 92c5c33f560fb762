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

// begin is when every story begins.
func begin() time.Time { return time.Date(2026, 5, 1, 14, 0, 0, 0, time.UTC) }

// world is all that there is: what the hub's API server holds, the members, and the hub. What the
// API server holds is replaced when it changes and never written to, so what is the same object is
// as it was.
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
	// due are the times at which somebody wants to look again.
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
		apps: map[string]*app{}, members: map[string]*member{}, hub: newHub(),
	}
}

// Advance lets time pass until so much has passed since the beginning.
func (w *world) Advance(until time.Duration) { w.advance(begin().Add(until)) }

// advance lets time pass until then, stopping whenever somebody has something to do.
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

// again asks for another look at a time.
func (w *world) again(at time.Time) { w.due = append(w.due, at) }

func (w *world) after(wait time.Duration) {
	if wait > 0 {
		w.again(w.now.Add(wait))
	}
}

// rounds is after how many rounds at one instant it is clear that they do not end.
const rounds = 60

// settle lets everybody take turns until nobody changes anything.
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

// tell writes down what happened.
func (w *world) tell(format string, args ...any) {
	fmt.Fprintf(&w.Trace, "%8s  %s\n", w.now.Sub(begin()), fmt.Sprintf(format, args...))
}

// breaks writes down what must never happen.
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

// inputs are the objects of which a stage makes of an application what it makes.
type inputs struct {
	template *unstructured.Unstructured
	binding  *workv1alpha2.ResourceBinding
	clusters map[string]*clusterv1alpha1.Cluster
	works    map[string]*workv1alpha1.Work
}

func (w *world) inputs(a *app) inputs {
	return inputs{template: a.template, binding: a.binding, clusters: maps.Clone(w.clusters), works: maps.Clone(a.works)}
}

// unchanged says whether a stage that had these inputs has the same now. If the time is none of them,
// it has nothing to do: most looks of a story are at what nobody has touched.
func (w *world) unchanged(a *app, had inputs) bool {
	return had.template == a.template && had.binding == a.binding && maps.Equal(had.clusters, w.clusters) && maps.Equal(had.works, a.works)
}

// equal says whether two values are so as Kubernetes has it, to which an empty list is none. Asking that takes most of
// the time of a story, and nearly always nothing differs at all, which is quickly seen.
func equal[T any](a, b T) bool { return reflect.DeepEqual(a, b) || equality.Semantic.DeepEqual(a, b) }

func names[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }
