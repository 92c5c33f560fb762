package scheduler

import (
	"cmp"
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
)

// defaultDeferFor is how long what nobody waits for in a status may wait for the first report of a
// cluster, with which it is written.
const defaultDeferFor = 10 * time.Second

// commit writes a decision about a binding whose status was what it was. What the status says of
// routine waits for the next write of it by another stage; after how long we do that ourselves is
// returned, 0 for not at all.
func (r *reconciler) commit(
	ctx context.Context, edit *kube.Edit, b kube.Binding, was verdict, c change,
) (wrote bool, later time.Duration, err error) {
	key, said := client.ObjectKeyFromObject(b), verdictIn(b.BindingStatus())
	if r.deferred == nil || !c.routine || r.overdue(b) || said.same(was) {
		if wrote, err = edit.Commit(ctx, r.hubClient, contract.FieldManagerScheduler); err == nil {
			r.written(key)
		}
		return wrote, 0, err
	}
	if wrote, err = edit.CommitObject(ctx, r.hubClient, contract.FieldManagerScheduler); err != nil {
		return wrote, 0, err
	}
	since := r.deferred.Defer(b, said.record)
	return wrote, max(since.Add(r.deferFor).Sub(r.clock.Now()), time.Millisecond), nil
}

// verdict is what the scheduler says in a status, which may have thousands of clusters beside.
type verdict struct {
	generation int64
	affinity   string
	// at is when the last decision was made; nil before the first.
	at *metav1.Time
	// scheduled is the condition; its zero value if there is none.
	scheduled metav1.Condition
}

// verdictIn returns a copy of what the scheduler says in a status.
func verdictIn(status *workv1alpha2.ResourceBindingStatus) verdict {
	v := verdict{
		generation: status.SchedulerObservedGeneration, affinity: status.SchedulerObservedAffinityName, at: status.LastScheduledTime.DeepCopy(),
	}
	if c := meta.FindStatusCondition(status.Conditions, workv1alpha2.BindingScheduled); c != nil {
		v.scheduled = *c
	}
	return v
}

// same says whether two say the same.
func (v verdict) same(other verdict) bool {
	return v.generation == other.generation && v.affinity == other.affinity && v.at.Equal(other.at) &&
		equality.Semantic.DeepEqual(v.scheduled, other.scheduled)
}

// record has a status say it.
func (v verdict) record(status *workv1alpha2.ResourceBindingStatus) {
	status.SchedulerObservedGeneration, status.SchedulerObservedAffinityName = v.generation, v.affinity
	status.LastScheduledTime = v.at.DeepCopy()
	if v.scheduled.Type != "" {
		meta.SetStatusCondition(&status.Conditions, v.scheduled)
	}
}

// overdue says whether what waits for a binding has waited long enough.
func (r *reconciler) overdue(b kube.Binding) bool {
	since, ok := r.deferred.Since(b)
	return ok && r.clock.Since(since) >= r.deferFor
}

// written notes that nothing waits for a binding any more.
func (r *reconciler) written(key types.NamespacedName) {
	if r.deferred != nil {
		r.deferred.Drop(key)
	}
}

// soonest returns the shorter of two waits, of which 0 is never.
func soonest(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return cmp.Or(a, b)
	}
	return min(a, b)
}
