package execution

import (
	"fmt"
	"maps"
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

// brakeWindow is how long deletions count towards the limit.
const brakeWindow = time.Minute

// brake holds deletions when there are too many at once, until an operator approves them. A hold survives a restart
// through the condition on the Cluster.
type brake struct {
	mu sync.Mutex
	// known says that the Cluster was read; before that, nothing is deleted.
	known bool
	// limit is nil if no Cluster is watched; then there is no limit.
	limit *clusterv1alpha1.DeletionBrake
	// word is the operator's last approval.
	word string
	// gone are the Works whose deletion was allowed within the window.
	gone map[types.UID]departed
	// takes counts, per ending Work, the objects of other Works that are deleted along with it, as far as known.
	takes map[types.UID]int
	// held is the present hold; nil if deletions are not held.
	held *hold
	// uncounted says that what is to be deleted may differ from the message of the hold.
	uncounted bool
	// lastName is the name of the last hold, or of its last message.
	lastName metav1.Time
	// released is the condition's reason why deletions are no longer held, if this process or its predecessor held
	// them.
	released string
	// approved is the number of objects whose deletion for a Work an operator approved, regardless of holds, and
	// spare how many more for all of these.
	approved map[types.UID]int
	spare    int
	// waiting are the Works that wait for a decision.
	waiting map[types.NamespacedName]struct{}
	// changed receives a value when the result of Condition changed.
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
		takes:    map[types.UID]int{},
		approved: map[types.UID]int{},
		waiting:  map[types.NamespacedName]struct{}{},
		changed:  make(chan struct{}, 1),
	}
}

// Pass returns whether the objects of a Work may be deleted now; takes is the number of objects of other Works, which
// do not end, that are deleted along with them. works lists the member's Works. If the answer is no, Observe returns
// the Work once the answer may be different.
func (b *brake) Pass(work *workv1alpha1.Work, takes int, works func() ([]workv1alpha1.Work, error), now time.Time) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	name := client.ObjectKeyFromObject(work)
	if b.known && plan.Off(b.limit) {
		return true, nil
	}
	if delete(b.takes, work.UID); takes > 0 {
		b.takes[work.UID] = takes
	}
	if b.known && b.isApproved(work) {
		return true, nil
	}
	if !b.known || b.held != nil {
		b.waiting[name], b.uncounted = struct{}{}, true
		return false, nil
	}
	if d, ok := b.gone[work.UID]; ok && now.Sub(d.at) < brakeWindow { // it could not be finished at once
		return true, nil
	}
	list, err := works()
	if err != nil {
		return false, fmt.Errorf("counting what is to be deleted: %w", err)
	}
	delete(b.gone, work.UID)
	if going, all := b.count(list, now); plan.Brakes(b.limit, going, all) {
		b.held = &hold{told: map[types.UID]toldWork{}}
		b.held.tell(b.newName(now), b.ending(list), going, all, b.limit)
		b.noteChange()
		b.waiting[name] = struct{}{}
		return false, nil
	}
	b.gone[work.UID] = departed{at: now, objects: b.objects(work)}
	return true, nil
}

// isApproved returns whether an operator approved the deletion of a Work, including the objects now deleted along
// with it.
func (b *brake) isApproved(work *workv1alpha1.Work) bool {
	approved, ok := b.approved[work.UID]
	if !ok {
		return false
	}
	more := max(0, b.objects(work)-approved)
	if more > b.spare { // the operator was not told about these
		delete(b.approved, work.UID)
		return false
	}
	b.approved[work.UID], b.spare = approved+more, b.spare-more
	return true
}

// Reconsider revokes the permission to delete the objects of a Work: they still exist, and by the time they are
// deleted, more objects may go along than were counted.
func (b *brake) Reconsider(work types.UID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.gone, work)
	delete(b.approved, work)
}

// ends returns whether the hub deletes a Work and intends to delete its objects.
func ends(work *workv1alpha1.Work) bool {
	return !work.DeletionTimestamp.IsZero() && contract.DeletesObjects(work.Annotations)
}

// Observe evaluates the Cluster, nil if there is none, and returns the Works to reconcile again. An approval takes
// effect only once the Cluster says that the hold has ended: otherwise an agent that is killed in between would apply
// the same approval to whatever is held by then.
func (b *brake) Observe(cluster *clusterv1alpha1.Cluster) []types.NamespacedName {
	b.mu.Lock()
	defer b.mu.Unlock()
	first := !b.known
	b.known = true
	b.limit, b.word = plan.Limit(nil), ""
	if cluster != nil {
		b.limit, b.word = plan.Limit(cluster.Spec.DeletionBrake), cluster.Annotations[contract.DeletionsApprovedAnnotation]
	}
	reported := holdOf(cluster)
	if first && reported != nil {
		b.held, b.uncounted, b.lastName = reported, true, reported.since() // by the process before this one
	}
	if b.held != nil {
		b.hear()
		if !plan.Off(b.limit) && (b.held.word == nil || reported != nil && b.held.isNamed(reported.since())) {
			return nil
		}
		maps.Copy(b.approved, b.held.letGo())
		b.spare = b.held.spare
		b.held, b.released = nil, clusterv1alpha1.ReasonDeletionsApproved
		clear(b.gone)
	}
	waiting := make([]types.NamespacedName, 0, len(b.waiting))
	for name := range b.waiting {
		waiting = append(waiting, name)
	}
	clear(b.waiting)
	return waiting
}

// hear checks whether an operator approved the hold. For a hold of a previous agent, it must be known first how much
// is held by now.
func (b *brake) hear() {
	off := plan.Off(b.limit)
	if b.held.told == nil && !off {
		return
	}
	before := b.held.word
	b.held.word = b.held.named(b.word)
	if b.held.word == nil && off {
		b.held.word = &metav1.Time{} // which approves nothing that is counted once there is a brake again
	}
	if (b.held.word == nil) != (before == nil) {
		b.noteChange()
	}
}

// Condition returns the condition for the Cluster, and whether there is one.
func (b *brake) Condition() (metav1.Condition, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	released := b.released
	if b.held != nil && b.held.word != nil {
		released = clusterv1alpha1.ReasonDeletionsApproved
	}
	switch {
	case b.held != nil && b.held.word == nil:
		return metav1.Condition{
			Type: clusterv1alpha1.ClusterDeletionsHeld, Status: metav1.ConditionTrue,
			Reason: clusterv1alpha1.ReasonTooManyDeletions, Message: b.held.message, LastTransitionTime: b.held.since(),
		}, true
	case released != "":
		message := "The deletions were approved, or the brake was turned off"
		if released == clusterv1alpha1.ReasonDeletionsWithdrawn {
			message = "All deletions were withdrawn"
		}
		return metav1.Condition{
			Type: clusterv1alpha1.ClusterDeletionsHeld, Status: metav1.ConditionFalse, Reason: released, Message: message,
		}, true
	default:
		return metav1.Condition{}, false
	}
}

// Forget removes a Work from those that wait.
func (b *brake) Forget(work types.NamespacedName) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.waiting, work)
	b.uncounted = true
}

// Idle returns whether deletions are held but no Work is known to wait.
func (b *brake) Idle() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held != nil && len(b.waiting) == 0
}

// Withdraw ends a hold if none of the member's Works, which are given, is to be deleted any more: the deletions were
// taken back. It stays as long as a single one is left, since many are taken back one by one. It returns whether it
// ended the hold.
func (b *brake) Withdraw(works []workv1alpha1.Work) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held == nil || len(b.waiting) > 0 || slices.ContainsFunc(works, deletes) {
		return false
	}
	b.released = clusterv1alpha1.ReasonDeletionsWithdrawn
	if b.held.word != nil {
		b.released = clusterv1alpha1.ReasonDeletionsApproved
	}
	b.held = nil
	b.noteChange()
	return true
}

// deletes returns whether the objects of a Work are to be deleted.
func deletes(work workv1alpha1.Work) bool {
	return ends(&work) && !ptrTrue(work.Spec.PreserveResourcesOnDeletion)
}

// Waiting counts the Works that wait.
func (b *brake) Waiting() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.waiting)
}

// Known returns whether the Cluster was read.
func (b *brake) Known() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.known
}
