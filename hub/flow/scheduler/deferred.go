package scheduler

import (
	"cmp"
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
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
	ctx context.Context, edit *kube.Edit, b kube.Binding, was *workv1alpha2.ResourceBindingStatus, c change,
) (wrote bool, later time.Duration, err error) {
	key, said := client.ObjectKeyFromObject(b), b.BindingStatus().DeepCopy()
	if r.deferred == nil || !c.routine || r.overdue(b) || equality.Semantic.DeepEqual(was, said) {
		if wrote, err = edit.Commit(ctx, r.hubClient, contract.FieldManagerScheduler); err == nil {
			r.written(key)
		}
		return wrote, 0, err
	}
	if wrote, err = edit.CommitObject(ctx, r.hubClient, contract.FieldManagerScheduler); err != nil {
		return wrote, 0, err
	}
	since := r.deferred.Defer(b, func(status *workv1alpha2.ResourceBindingStatus) { say(status, said) })
	return wrote, max(since.Add(r.deferFor).Sub(r.clock.Now()), time.Millisecond), nil
}

// say takes over what the scheduler says in a status.
func say(status, said *workv1alpha2.ResourceBindingStatus) {
	status.SchedulerObservedGeneration = said.SchedulerObservedGeneration
	status.SchedulerObservedAffinityName = said.SchedulerObservedAffinityName
	status.LastScheduledTime = said.LastScheduledTime.DeepCopy()
	if c := meta.FindStatusCondition(said.Conditions, workv1alpha2.BindingScheduled); c != nil {
		meta.SetStatusCondition(&status.Conditions, *c)
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
