package execution

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	ctrl "sigs.k8s.io/controller-runtime"

	"fairlead.dev/agent/execution/plan"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

// reportedPause is the pause from which the condition says that an object is not as desired. Shorter pauses are not
// worth two writes.
const reportedPause = time.Second

// later postpones the correction of an object that somebody in the member keeps changing.
func (*Reconciler) later(ctx context.Context, m plan.Manifest, live plan.Live, wait time.Duration) step {
	ctrl.LoggerFrom(ctx).V(1).Info("Putting back changes of an object more slowly, because somebody in the member repeats them", "manifest", m.Object.String())
	outcome := plan.Outcome{Ordinal: m.Ordinal, Object: m.Object}
	if wait >= reportedPause {
		outcome.Result, outcome.Message = plan.Throttled, plan.ThrottledMessage
	}
	return step{outcome: outcome, live: live.Object, wait: wait}
}

// Drifts counts the corrections since the start.
func (r *Reconciler) Drifts() int64 { return r.drifts.Load() }

// drifted reports what was corrected, if anything was: found is the object before (nil if it had disappeared),
// applied the object now.
func (r *Reconciler) drifted(ctx context.Context, work types.NamespacedName, m plan.Manifest, found, applied *unstructured.Unstructured) {
	drift := workv1alpha1.Drift{Identifier: m.Object.Identifier(m.Ordinal), Deleted: found == nil, Times: 1}
	now := r.clock.Now()
	if found != nil {
		undone := plan.Undone(found, applied)
		if len(undone.Fields) == 0 {
			return
		}
		drift.Fields, drift.ChangedBy = undone.Fields, undone.ChangedBy
		if !undone.Time.IsZero() {
			now = undone.Time
		}
	}
	drift.Time = metav1.NewTime(now).Rfc3339Copy()
	r.metrics.drift.Inc()
	r.drifts.Add(1)
	r.reporter.Drifted(work, drift)
	ctrl.LoggerFrom(ctx).Info("Put back a change that was made in the member", "manifest", m.Object.String(),
		"deleted", drift.Deleted, "fields", drift.Fields, "changedBy", drift.ChangedBy)
}
