package execution

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/agent/execution/plan"
	"fairlead.dev/common/contract"
)

const (
	// keepDeletionsEvery is the minimum interval at which the pending deletions are written to the journal: most
	// finish within a moment.
	keepDeletionsEvery = 5 * time.Second
	// maxKeptDeletions bounds how many are written; the oldest take precedence.
	maxKeptDeletions = 1000
)

// keepDeletions writes the pending deletions to the journal if they changed. Most of their Works are gone, so after a
// restart nobody would report them otherwise.
func (r *Reconciler) keepDeletions(stops bool) {
	if kept, ok := r.pendingDeletions.unkept(r.clock.Now(), stops); ok {
		r.journal.PutDeletions(kept)
	}
}

// unkept returns the pending deletions in the journal's form, and whether to write them now: if they changed, but not
// again within seconds unless the agent stops.
func (l *pendingDeletions) unkept(now time.Time, stops bool) ([]metav1.PartialObjectMetadata, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.changed || !stops && now.Sub(l.keptAt) < keepDeletionsEvery {
		return nil, false
	}
	l.changed, l.keptAt = false, now
	out := make([]metav1.PartialObjectMetadata, 0, len(l.objects))
	for uid, d := range l.objects {
		one := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Namespace: d.object.Namespace, Name: d.object.Name, UID: uid, DeletionTimestamp: &metav1.Time{Time: d.since},
			Annotations: map[string]string{contract.WorkNamespaceAnnotation: d.work.Namespace, contract.WorkNameAnnotation: d.work.Name},
		}}
		one.SetGroupVersionKind(d.object.GroupVersionKind)
		out = append(out, one)
	}
	slices.SortFunc(out, func(a, b metav1.PartialObjectMetadata) int { //nolint:gocritic // it is what slices asks for
		if c := a.DeletionTimestamp.Compare(b.DeletionTimestamp.Time); c != 0 {
			return c
		}
		return strings.Compare(string(a.UID), string(b.UID))
	})
	return out[:min(len(out), maxKeptDeletions)], true
}

// resumeDeletions tracks the deletions that a previous agent left pending. They are reported again, since the earlier
// events may have expired. Those outside the namespaces to which the agent is confined are dropped.
func (r *Reconciler) resumeDeletions(kept []metav1.PartialObjectMetadata) {
	forgets := false
	for i := range kept {
		one := &kept[i]
		work, ok := plan.WorkOf(one)
		object := plan.Object{GroupVersionKind: one.GroupVersionKind(), NamespacedName: types.NamespacedName{Namespace: one.Namespace, Name: one.Name}}
		if !ok || one.UID == "" || one.DeletionTimestamp == nil || object.Name == "" || object.Kind == "" || r.outside(object) != nil {
			forgets = true
			continue
		}
		since, now := one.DeletionTimestamp.Time, r.clock.Now()
		if since.After(now) { // the clock was set back
			since = now
		}
		r.pendingDeletions.Add(object, one.UID, work, since, now.Sub(since)+r.stuckAfter)
	}
	r.pendingDeletions.changed = forgets
}
