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

// behind are, by binding, the clusters whose agent has yet to report on the current generation of its Work. The status
// of the binding does not tell: it has the reports on the previous generation.
type behind map[types.NamespacedName]sets.Set[string]

// add adds the Work of a cluster.
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

// pendingSince returns since when an application has a change that a cluster has yet to apply which is heard from,
// refuses nothing and is not suspended; zero if there is none.
func (m *Monitor) pendingSince(key types.NamespacedName, a *applications.Application, state *snapshot, now time.Time) time.Time {
	switch {
	case a.State == applications.Deleting, a.State == applications.Unscheduled, a.State == applications.RollingOut:
		return m.changes.Heard(key, false, now) // nothing is being dispatched, or it is a rollout, which has its own metrics
	case a.State == applications.Failing && a.Failing == 0:
		return m.changes.Heard(key, false, now) // the hub cannot render it
	case !slices.ContainsFunc(a.Places, isExempt):
		return m.changes.Heard(key, true, now) // all clusters are expected to apply it
	}
	return m.changes.Heard(key, slices.ContainsFunc(a.Places, func(p applications.Place) bool {
		return !p.Leaving && !isExempt(p) && (!p.Applied || state.behind[key].Has(p.Cluster))
	}), now)
}

// isExempt says whether a target is not expected to apply anything now.
func isExempt(p applications.Place) bool {
	return !p.Leaving && (p.Stale || p.State == applications.Failing || p.State == applications.Suspended)
}
