package execution

import (
	"fmt"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/execution/plan"
	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
)

// brakeWindow is for how long what was deleted counts.
const brakeWindow = time.Minute

// brake holds deletions when too many come together, until an operator says to go on. What
// it holds outlasts the process: the condition on the Cluster says so.
type brake struct {
	mu sync.Mutex
	// known says that the Cluster was heard; before, nothing is deleted.
	known bool
	// limit is nil if no Cluster is watched; then there is no brake.
	limit *clusterv1alpha1.DeletionBrake
	// word is what an operator said last.
	word string
	// gone is what was let go within the window.
	gone map[types.UID]departed
	// held is since when and why deletions are held; nil if they are not.
	held *hold
	// released says why they are not held any more, if they were before, by this process or
	// the one before: a reason of the condition.
	released string
	// approving says that what is to be deleted may go, by the word of an operator that was heard and is not looked at yet; approved are
	// these Works.
	approving bool
	approved  map[types.UID]struct{}
	// waiting are the Works that wait for an answer.
	waiting map[types.NamespacedName]struct{}
	// changed has something to receive if what Condition says changed.
	changed chan struct{}
}

type departed struct {
	at      time.Time
	objects int
}

func newBrake(watched bool) *brake {
	return &brake{
		known:    !watched,
		gone:     map[types.UID]departed{},
		approved: map[types.UID]struct{}{},
		waiting:  map[types.NamespacedName]struct{}{},
		changed:  make(chan struct{}, 1),
	}
}

// Pass says whether the objects of a Work may be deleted now, which take so many of Works along
// that do not end. Works lists those of the member. If they may not, the Work is among those that
// Observe returns when they may.
func (b *brake) Pass(work *workv1alpha1.Work, takes int, works func() ([]workv1alpha1.Work, error), now time.Time) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	name := client.ObjectKeyFromObject(work)
	if b.known && plan.Off(b.limit) {
		return true, nil
	}
	if !b.known || b.held != nil {
		b.waiting[name] = struct{}{}
		return false, nil
	}
	list, err := works()
	if err != nil {
		return false, fmt.Errorf("counting what is to be deleted: %w", err)
	}
	if b.approving {
		b.approve(list)
	}
	if _, ok := b.approved[work.UID]; ok {
		return true, nil
	}
	if d, ok := b.gone[work.UID]; ok && now.Sub(d.at) < brakeWindow { // it could not be finished at once
		return true, nil
	}
	delete(b.gone, work.UID)
	going, all := b.count(list, now)
	going += takes
	if plan.Brakes(b.limit, going, all) {
		b.held = newHold(now, b.word, going, all, b.limit)
		b.noteChange()
		b.waiting[name] = struct{}{}
		return false, nil
	}
	b.gone[work.UID] = departed{at: now, objects: len(work.Spec.Workload.Manifests) + takes}
	return true, nil
}

// Reconsider forgets that the objects of a Work were let go: they are there, and by the time that
// they go they may take others along than were counted.
func (b *brake) Reconsider(work types.UID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.gone, work)
	delete(b.approved, work)
}

// Approving says whether the word of an operator waits for Approve.
func (b *brake) Approving() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.approving
}

// Approve takes the word of an operator for those of all Works of the member that are to be deleted by now, and for none that are later.
func (b *brake) Approve(works []workv1alpha1.Work) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.approving {
		b.approve(works)
	}
}

// approve notes that what is to be deleted may go.
func (b *brake) approve(works []workv1alpha1.Work) {
	b.approving = false
	clear(b.approved)
	for i := range works {
		if ends(&works[i]) {
			b.approved[works[i].UID] = struct{}{}
		}
	}
}

// ends says whether the hub deletes a Work, and means what it brought.
func ends(work *workv1alpha1.Work) bool {
	return !work.DeletionTimestamp.IsZero() && contract.DeletesObjects(work.Annotations)
}

// count returns how many objects went within the window or are to go, and of how many.
func (b *brake) count(works []workv1alpha1.Work, now time.Time) (going, all int) {
	there := map[types.UID]struct{}{}
	for i := range works {
		n := len(works[i].Spec.Workload.Manifests)
		all += n
		there[works[i].UID] = struct{}{}
		_, approved := b.approved[works[i].UID]
		if deletes(works[i]) && !approved {
			going += max(n, b.gone[works[i].UID].objects)
		}
	}
	for uid, d := range b.gone {
		if now.Sub(d.at) >= brakeWindow {
			delete(b.gone, uid)
			continue
		}
		if _, ok := there[uid]; !ok {
			going += d.objects
			all += d.objects
		}
	}
	return going, all
}

// Observe takes over what the Cluster says, nil if there is none, and returns the Works to
// look at again. By the word of an operator nothing goes before the Cluster says that the hold has ended: an agent that is
// killed after that would take the same word for what is held by then.
func (b *brake) Observe(cluster *clusterv1alpha1.Cluster) []types.NamespacedName {
	b.mu.Lock()
	defer b.mu.Unlock()
	first := !b.known
	b.known = true
	b.limit, b.word = plan.Limit(nil), ""
	if cluster != nil {
		b.limit, b.word = plan.Limit(cluster.Spec.DeletionBrake), cluster.Annotations[contract.DeletionsApprovedAnnotation]
	}
	said := holdOf(cluster)
	if first && said != nil {
		b.held = said // by the process before this one
	}
	if b.held != nil {
		b.hear()
		if !plan.Off(b.limit) && (!b.held.approved || said != nil && said.since.Equal(&b.held.since)) {
			return nil
		}
		b.held, b.released = nil, clusterv1alpha1.ReasonDeletionsApproved
		clear(b.gone)
	}
	if plan.Off(b.limit) {
		b.approving = false // nothing needs it, and when the brake is put on again it would be for whatever is to be deleted then
	}
	waiting := make([]types.NamespacedName, 0, len(b.waiting))
	for name := range b.waiting {
		waiting = append(waiting, name)
	}
	clear(b.waiting)
	return waiting
}

// hear notes whether an operator says that what is held may go.
func (b *brake) hear() {
	switch approved := b.word == approval(b.held.since) || plan.Off(b.limit); {
	case approved && !b.held.approved:
		b.held.approved, b.approving = true, true
		b.noteChange()
	case !approved && b.held.approved: // the word was taken back in time
		b.held.approved, b.approving = false, false
		b.noteChange()
		clear(b.approved)
	}
}

// Condition returns what is to be said of it on the Cluster, and whether there is anything
// to say.
func (b *brake) Condition() (metav1.Condition, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	released := b.released
	if b.held != nil && b.held.approved {
		released = clusterv1alpha1.ReasonDeletionsApproved
	}
	switch {
	case b.held != nil && !b.held.approved:
		return metav1.Condition{
			Type: clusterv1alpha1.ClusterDeletionsHeld, Status: metav1.ConditionTrue,
			Reason: clusterv1alpha1.ReasonTooManyDeletions, Message: b.held.message, LastTransitionTime: b.held.since,
		}, true
	case released != "":
		message := "What was to be deleted was approved, or the brake was taken off"
		if released == clusterv1alpha1.ReasonDeletionsWithdrawn {
			message = "Nothing of what was to be deleted is to be deleted any more"
		}
		return metav1.Condition{
			Type: clusterv1alpha1.ClusterDeletionsHeld, Status: metav1.ConditionFalse, Reason: released, Message: message,
		}, true
	default:
		return metav1.Condition{}, false
	}
}

// Forget notes that a Work waits no more.
func (b *brake) Forget(work types.NamespacedName) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.waiting, work)
}

// Idle says whether deletions are held, but no Work is known to wait for an answer.
func (b *brake) Idle() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held != nil && len(b.waiting) == 0
}

// Withdraw ends a hold if of all Works of the member, which are given, none is to be deleted
// any more: whoever wanted that took it back. As long as one is left it holds, be it a single
// one: who takes back many does it one by one. It says whether it ended the hold.
func (b *brake) Withdraw(works []workv1alpha1.Work) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held == nil || len(b.waiting) > 0 || slices.ContainsFunc(works, deletes) {
		return false
	}
	b.released = clusterv1alpha1.ReasonDeletionsWithdrawn
	if b.held.approved {
		b.released = clusterv1alpha1.ReasonDeletionsApproved
	}
	b.held = nil
	b.noteChange()
	return true
}

// deletes says whether the objects of a Work are to be deleted.
func deletes(work workv1alpha1.Work) bool {
	return ends(&work) && !ptrTrue(work.Spec.PreserveResourcesOnDeletion)
}

// Waiting counts the Works that wait.
func (b *brake) Waiting() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.waiting)
}

// Known says whether the Cluster was heard.
func (b *brake) Known() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.known
}
