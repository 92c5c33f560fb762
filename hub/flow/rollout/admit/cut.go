package admit

import (
	"fmt"
	"maps"
	"slices"
	"time"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/common/revision"
	"fairlead.dev/hub/flow/rollout/judge"
)

// longestSettle is after how long of continuous edits a revision is made without waiting for further ones.
const longestSettle = 30 * time.Second

// remember returns the memory, updated with the live content.
func remember(in Input) Memory {
	out := in.Memory
	out.Progress = maps.Clone(in.Memory.Progress)
	if out.Progress == nil {
		out.Progress = map[string]judge.Progress{}
	}
	if in.Live == nil {
		return out
	}
	since := in.Live.Since
	if since.IsZero() {
		since = in.Now
	}
	if in.Live.Hash != out.LiveHash || out.LiveSince.IsZero() {
		out.LiveHash, out.LiveSince = in.Live.Hash, since
	}
	switch {
	case !differs(in):
		out.EditedSince = time.Time{}
	case out.EditedSince.IsZero():
		out.EditedSince = since
	}
	return out
}

// cut returns the revision to make, or nil. A rollback by a person comes first; an edit made meanwhile is staged after it. A rollback needs
// only the older revision, so it works even if the strategy does not exist or the live content cannot be stored.
func cut(in Input, memory Memory) *Cut {
	if in.Status.Revision > 0 {
		if c := goBack(in); c != nil {
			return c
		}
	}
	if in.Live == nil || !differs(in) || toSettle(in, memory) > 0 {
		return nil
	}
	c := &Cut{Number: next(in), Cause: fairleadv1alpha1.CauseEdited}
	if in.Status.Revision == 0 && runs(in) {
		c.Cause = fairleadv1alpha1.CauseAdopted
	}
	return c
}

// goBack returns the rollback that a person requested by spec.target, or nil. Whether it goes to all clusters at once is decided by Begin,
// which knows the strategy.
func goBack(in Input) *Cut {
	target := in.Spec.Target
	if target == nil || target.Over != in.Status.Revision || revision.Of(in.Status.Revisions, target.Revision).Zero() {
		return nil
	}
	c := &Cut{
		Number: next(in), ContentOf: target.Revision, Cause: fairleadv1alpha1.CauseUndone, Immediately: target.Immediately,
		Message: fmt.Sprintf("A person went from revision %d back to revision %d.", target.Over, target.Revision),
	}
	if target.Immediately && target.Revision == in.Status.Stable {
		c.Cause = fairleadv1alpha1.CauseAborted
		c.Message = fmt.Sprintf("A person aborted revision %d.", target.Over)
	}
	return c
}

// differs returns whether a revision of the live content is needed. It is, too, if Works have higher numbers than the status, which was
// then restored from a backup.
func differs(in Input) bool {
	if in.Live == nil {
		return false
	}
	return in.Live.Edited || in.Status.Revision == 0 || next(in) > in.Status.Revision+1
}

// toSettle returns how long to wait for further edits.
func toSettle(in Input, memory Memory) time.Duration {
	return min(in.Live.Settle-in.Now.Sub(memory.LiveSince), longestSettle-in.Now.Sub(memory.EditedSince))
}

func (d *Decision) wakeForEdit(in Input) {
	if differs(in) {
		d.wake(toSettle(in, d.Memory))
	}
}

// next returns a number that was never used, not even by a Work.
func next(in Input) int64 {
	out := in.Status.Revision
	for _, r := range in.Status.Revisions {
		out = max(out, r.Number)
	}
	for i := range in.Clusters {
		out = max(out, in.Clusters[i].Work.Revision.Number)
	}
	return out + 1
}

// runs returns whether the application already ran before there was a rollout.
func runs(in Input) bool {
	for i := range in.Clusters {
		if c := &in.Clusters[i]; c.Target && c.Work.Exists && c.Work.Revision.Zero() {
			return true
		}
	}
	return false
}

// rollBack returns the revision for an automatic rollback to the stable one, or nil. It does not roll back a revision that already goes to
// all clusters at once, nor when only lost clusters exceed the budget, since these may be healthy.
func (r *rollout) rollBack() *Cut {
	if r.halt == nil || r.halt.Reason != fairleadv1alpha1.ReasonRolloutTooManyFailed || r.blocked() || r.completed || r.stable.Zero() ||
		r.spec.OnFailure != fairleadv1alpha1.OnFailureRollBack {
		return nil
	}
	return &Cut{
		Number: next(r.in), ContentOf: r.stable.Number, Cause: fairleadv1alpha1.CauseRolledBack, Immediately: true, Message: r.halt.Message,
	}
}

// made returns the record of the newest revision.
func (r *rollout) made() fairleadv1alpha1.RevisionStatus {
	for _, kept := range r.in.Status.Revisions {
		if kept.Number == r.newest.Number {
			return kept
		}
	}
	return fairleadv1alpha1.RevisionStatus{}
}

// forget drops revisions from the status that are not needed and exceed the history limit.
func (r *rollout) forget() {
	needed := map[int64]bool{r.newest.Number: true, r.status.Stable: true}
	if t := r.in.Spec.Target; t != nil && t.Over == r.newest.Number {
		needed[t.Revision] = true
	}
	for i := range r.in.Clusters {
		needed[r.in.Clusters[i].Work.Revision.Number] = true
	}
	for _, group := range r.status.Clusters {
		needed[group.Revision] = true
	}
	needed[revision.NewestEdit(r.status.Revisions).Number] = true // the live content is compared with it
	keep := int(*r.spec.HistoryLimit)
	kept := make([]fairleadv1alpha1.RevisionStatus, 0, len(r.status.Revisions))
	for _, rev := range slices.Backward(r.status.Revisions) {
		switch {
		case needed[rev.Number]:
		case keep > 0:
			keep--
		default:
			r.out.Forget = append(r.out.Forget, rev.Number)
			continue
		}
		kept = append(kept, rev)
	}
	for i := range kept {
		r.status.Revisions[len(kept)-1-i] = kept[i]
	}
	r.status.Revisions = r.status.Revisions[:len(kept)]
}
