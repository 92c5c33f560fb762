package monitoring

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/bindings"
	"fairlead.dev/hub/people/view/applications"
)

// behind are the clusters whose agent has yet to report on what a Work asks for now, by the binding of the Work. What a binding
// says of its clusters does not tell: that is what they reported of the Work before.
type behind map[types.NamespacedName]sets.Set[string]

// add notes the Work of a cluster.
func (b behind) add(cluster string, w *workv1alpha1.Work) {
	if w.DeletionTimestamp != nil || ptr.Deref(w.Spec.SuspendDispatching, false) {
		return
	}
	applied := meta.FindStatusCondition(w.Status.Conditions, workv1alpha1.WorkApplied)
	if applied != nil && (applied.ObservedGeneration == 0 || applied.ObservedGeneration >= w.Generation) {
		return
	}
	key, ok := bindings.KeyOf(w)
	if !ok {
		return
	}
	if b[key] == nil {
		b[key] = sets.Set[string]{}
	}
	b[key].Insert(cluster)
}

// pendingSince says since when an application has a change that some cluster has yet to apply, which is heard from, refuses nothing and is
// not suspended; zero if there is none.
func (m *Monitor) pendingSince(key types.NamespacedName, a *applications.Application, state *snapshot, now time.Time) time.Time {
	switch {
	case a.State == applications.Deleting, a.State == applications.Unscheduled, a.State == applications.RollingOut:
		return time.Time{} // nothing is on its way, or a rollout has metrics of its own
	case a.State == applications.Failing && a.Failing == 0:
		return time.Time{} // the hub cannot render it
	case !slices.ContainsFunc(a.Places, isExempt):
		return m.changes.Heard(key, true, now) // all that it takes is time
	}
	return m.changes.Heard(key, slices.ContainsFunc(a.Places, func(p applications.Place) bool {
		return !p.Leaving && !isExempt(p) && (!p.Applied || state.behind[key].Has(p.Cluster))
	}), now)
}

// isExempt says whether a cluster that is to have an application is not expected to apply anything now.
func isExempt(p applications.Place) bool {
	return !p.Leaving && (p.Stale || p.State == applications.Failing || p.State == applications.Suspended)
}
