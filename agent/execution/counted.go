package execution

import (
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/execution/plan"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

// objects returns how many objects are known to be deleted with a Work, its own and those of others.
func (b *brake) objects(work *workv1alpha1.Work) int {
	return len(work.Spec.Workload.Manifests) + b.takes[work.UID]
}

// count returns how many objects were deleted within the window or are to be deleted, and out of how many, without
// those that an operator approved.
func (b *brake) count(works []workv1alpha1.Work, now time.Time) (going, all int) {
	there := make(map[types.UID]struct{}, len(works))
	for i := range works {
		work := &works[i]
		all += len(work.Spec.Workload.Manifests)
		there[work.UID] = struct{}{}
		if !deletes(*work) {
			delete(b.approved, work.UID) // its deletion was taken back
		} else if _, approved := b.approved[work.UID]; !approved {
			going += max(b.objects(work), b.gone[work.UID].objects)
		}
	}
	isGone := func(uid types.UID) bool { _, ok := there[uid]; return !ok }
	maps.DeleteFunc(b.takes, func(uid types.UID, _ int) bool { return isGone(uid) })
	maps.DeleteFunc(b.approved, func(uid types.UID, _ int) bool { return isGone(uid) })
	for uid, d := range b.gone {
		if now.Sub(d.at) >= brakeWindow {
			delete(b.gone, uid)
		} else if isGone(uid) {
			going += d.objects
			all += d.objects
		}
	}
	return going, all
}

// ending returns how many objects are to be deleted with each Work that waits for approval, or will.
func (b *brake) ending(works []workv1alpha1.Work) map[types.UID]int {
	out := map[types.UID]int{}
	for i := range works {
		if _, approved := b.approved[works[i].UID]; !approved && deletes(works[i]) {
			out[works[i].UID] = b.objects(&works[i])
		}
	}
	return out
}

// Recount compares what is to be deleted, over all Works of the member, with the hold's message. The message is
// renewed, and Recount returns true, if so many more objects are to be deleted that the brake would hold these alone,
// or after a minute if it is fewer; those that were not counted are deleted once the rest is approved. An approval
// for a message of a previous agent covers as many more as well.
func (b *brake) Recount(works []workv1alpha1.Work, now time.Time) (renewed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.uncounted = false
	if b.held == nil || b.held.word != nil {
		return false // what the operator was not told about is counted after the hold has ended
	}
	going, all := b.count(works, now)
	ending := b.ending(works)
	isLate := b.held.told != nil && total(ending) > b.held.objects && now.Sub(b.held.since().Time) >= brakeWindow
	if isLate || plan.Brakes(b.limit, b.held.more(ending), all) {
		b.held.tell(b.newName(now), ending, going, all, b.limit)
		b.noteChange()
		renewed = true
	} else {
		if b.held.keep(ending, b.areLookedAt(works, ending), all, b.limit) {
			b.noteChange()
		}
		b.uncounted = total(ending) > b.held.objects
	}
	b.hear()
	return renewed
}

// areLookedAt returns whether this agent has reconciled all held Works, so that it is known what they take along.
func (b *brake) areLookedAt(works []workv1alpha1.Work, ending map[types.UID]int) bool {
	return !slices.ContainsFunc(works, func(work workv1alpha1.Work) bool { //nolint:gocritic // it is what slices asks for
		_, ends := ending[work.UID]
		_, waits := b.waiting[client.ObjectKeyFromObject(&work)]
		return ends && !waits
	})
}

// IsUncounted returns whether deletions are held and may differ from the message.
func (b *brake) IsUncounted() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held != nil && b.uncounted
}

// IsFound returns whether a previous agent began the hold, and Recount has not run since.
func (b *brake) IsFound() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held != nil && b.held.told == nil
}

// newName returns the name of a new message: later than the previous name, so that no earlier approval matches it,
// even if both are made within the same second or the clock was set back.
func (b *brake) newName(now time.Time) metav1.Time {
	name := metav1.NewTime(now).Rfc3339Copy()
	if !name.After(b.lastName.Time) {
		name = metav1.NewTime(b.lastName.Add(time.Second)).Rfc3339Copy()
	}
	if approval(name) == b.word {
		name = metav1.NewTime(name.Add(time.Second))
	}
	b.lastName = name
	return name
}
