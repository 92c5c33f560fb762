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

// defaultDeferFor is the default of Deps.DeferFor: the first report of a cluster, with which deferred status is written, usually comes
// within it.
const defaultDeferFor = 10 * time.Second

// commit writes a decision on a binding; was is the scheduler's part of its status before. Routine status is deferred to another stage's
// next write. Later is when the scheduler writes it itself if none comes; 0 means that nothing is deferred.
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

// verdict is the scheduler's part of a binding's status, kept apart because the rest may cover thousands of clusters.
type verdict struct {
	generation int64
	affinity   string
	// at is when the last decision was made; nil before the first.
	at *metav1.Time
	// scheduled is the condition Scheduled; its zero value if there is none.
	scheduled metav1.Condition
}

// verdictIn returns a copy of the scheduler's part of a status.
func verdictIn(status *workv1alpha2.ResourceBindingStatus) verdict {
	v := verdict{
		generation: status.SchedulerObservedGeneration, affinity: status.SchedulerObservedAffinityName, at: status.LastScheduledTime.DeepCopy(),
	}
	if c := meta.FindStatusCondition(status.Conditions, workv1alpha2.BindingScheduled); c != nil {
		v.scheduled = *c
	}
	return v
}

// same returns whether two verdicts are equal.
func (v verdict) same(other verdict) bool {
	return v.generation == other.generation && v.affinity == other.affinity && v.at.Equal(other.at) &&
		equality.Semantic.DeepEqual(v.scheduled, other.scheduled)
}

// record sets the verdict in a status.
func (v verdict) record(status *workv1alpha2.ResourceBindingStatus) {
	status.SchedulerObservedGeneration, status.SchedulerObservedAffinityName = v.generation, v.affinity
	status.LastScheduledTime = v.at.DeepCopy()
	if v.scheduled.Type != "" {
		meta.SetStatusCondition(&status.Conditions, v.scheduled)
	}
}

// overdue returns whether the deferred status of a binding has waited for deferFor.
func (r *reconciler) overdue(b kube.Binding) bool {
	since, ok := r.deferred.Since(b)
	return ok && r.clock.Since(since) >= r.deferFor
}

// written drops the deferred status of a binding.
func (r *reconciler) written(key types.NamespacedName) {
	if r.deferred != nil {
		r.deferred.Drop(key)
	}
}

// soonest returns the shorter of two waits, where 0 means never.
func soonest(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return cmp.Or(a, b)
	}
	return min(a, b)
}
