package execution

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
)

// lastNames is how many messages of a hold may still be approved.
const lastNames = 100

// hold is a hold of deletions. An approval names a message, and approves what that message announced. While more
// objects become marked for deletion, newer messages with names of their own replace it; an approval of an earlier
// message still holds for what that one announced. So nothing is deleted that the operator was not told about, and an
// operator who answers while deletions keep coming makes progress with each answer.
type hold struct {
	// names are the names of its messages; the last one is on the Cluster, or about to be.
	names   []metav1.Time
	message string
	// objects is the number of objects whose deletion the message offers to approve.
	objects int
	// told are the Works that were announced. For a hold of a previous agent it is nil until the pending deletions
	// are known: the Cluster shows only their number.
	told map[types.UID]toldWork
	// spare is how many objects the previous agent announced beyond what is known to go with these Works: it counted
	// what they take along.
	spare int
	// word is the name of the approved message, zero if the brake was turned off; nil if neither happened. The
	// announced objects are deleted once the Cluster no longer shows the hold.
	word *metav1.Time
}

// toldWork is what a message announced about a Work.
type toldWork struct {
	// name is that of the first message with this number of objects.
	name    metav1.Time
	objects int
}

// since returns the name of the latest message.
func (h *hold) since() metav1.Time { return h.names[len(h.names)-1] }

// isNamed returns whether one of the messages has a name.
func (h *hold) isNamed(name metav1.Time) bool {
	return slices.ContainsFunc(h.names, func(one metav1.Time) bool { return one.Equal(&name) })
}

// named returns the name of the message that an approval refers to; nil if there is none.
func (h *hold) named(word string) *metav1.Time {
	for _, name := range h.names {
		if approval(name) == word {
			return &name
		}
	}
	return nil
}

// letGo returns the approved deletions: the objects of the Works announced up to the approved message.
func (h *hold) letGo() map[types.UID]int {
	out := map[types.UID]int{}
	for uid, t := range h.told {
		if h.word != nil && !t.name.After(h.word.Time) {
			out[uid] = t.objects
		}
	}
	return out
}

// more returns how many objects are to be deleted that were not announced.
func (h *hold) more(ending map[types.UID]int) int {
	known := h.spare
	if h.told == nil {
		known = h.objects
	}
	out := 0
	for uid, objects := range ending {
		out += max(0, objects-h.told[uid].objects)
	}
	return max(0, out-known)
}

// tell begins the hold, or announces everything to be deleted by now in a message with a new name.
func (h *hold) tell(name metav1.Time, ending map[types.UID]int, going, all int, limit *clusterv1alpha1.DeletionBrake) {
	if h.told == nil { // it is not known which Works the message was about
		h.names, h.told = nil, map[types.UID]toldWork{}
	}
	h.names = append(h.names, name)
	h.names = h.names[max(0, len(h.names)-lastNames):]
	for uid, objects := range ending {
		if before, ok := h.told[uid]; !ok || objects > before.objects {
			h.told[uid] = toldWork{name: name, objects: objects}
		}
	}
	h.spare = 0
	h.objects = h.drop(ending)
	h.message = heldMessage(name, going, all, h.objects, limit)
}

// keep leaves the message as it is, except that it no longer announces what is not to be deleted any more. It returns
// whether that changed the message. whole says that ending includes everything that is taken along, as determined by
// this agent.
func (h *hold) keep(ending map[types.UID]int, whole bool, all int, limit *clusterv1alpha1.DeletionBrake) (fewer bool) {
	if h.told == nil {
		h.told = make(map[types.UID]toldWork, len(ending))
		for uid, objects := range ending {
			h.told[uid] = toldWork{name: h.since(), objects: objects}
		}
		h.spare = max(0, h.objects-total(ending))
	}
	left := h.drop(ending) + h.spare
	if whole {
		left = h.settle(ending, left)
	}
	if left >= h.objects {
		return false
	}
	h.objects = left
	h.message = heldMessage(h.since(), left, all, left, limit)
	return true
}

// settle counts the announced Works with what they take along, and returns how many of the announced objects are
// left. What the previous agent announced beyond that was taken back while no agent ran. If they take along more by
// now, the message stays as it is.
func (h *hold) settle(ending map[types.UID]int, left int) int {
	whole := 0
	for uid := range h.told {
		whole += ending[uid]
	}
	if h.spare == 0 || whole > left {
		return left
	}
	for uid, t := range h.told {
		h.told[uid] = toldWork{name: t.name, objects: ending[uid]}
	}
	h.spare = 0
	return whole
}

// drop removes the Works that are not to be deleted any more, and returns how many objects go with the others.
func (h *hold) drop(ending map[types.UID]int) int {
	left := 0
	for uid, t := range h.told {
		if _, ok := ending[uid]; !ok {
			delete(h.told, uid)
			continue
		}
		left += t.objects
	}
	return left
}

func total(ending map[types.UID]int) int {
	out := 0
	for _, objects := range ending {
		out += objects
	}
	return out
}

// approval returns the annotation value that approves the message of that name, and nothing else.
func approval(name metav1.Time) string { return name.UTC().Format(time.RFC3339) }

// letsGo precedes, in the message, the number of objects that the approval covers.
const letsGo = "on this Cluster, which lets go the "

func heldMessage(name metav1.Time, going, all, objects int, limit *clusterv1alpha1.DeletionBrake) string {
	return fmt.Sprintf("%d of %d objects would be deleted within a minute, and the deletion brake allows %d or %d %%: nothing is deleted. "+
		"If this is intended, set the annotation %s=%s %s%d that are left of them, and nothing that is marked later; if not, first correct the cause on the hub",
		going, all, limit.Objects, limit.Percent, contract.DeletionsApprovedAnnotation, approval(name), letsGo, objects)
}

// holdOf returns the hold that a Cluster shows; nil if it shows none. Operators go by the message, so the name is
// taken from it if it has one: older agents left the time of one hold with the message of the next. They reported how
// many objects were to be deleted, but not how many of these were left.
func holdOf(cluster *clusterv1alpha1.Cluster) *hold {
	if cluster == nil {
		return nil
	}
	c := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1alpha1.ClusterDeletionsHeld)
	if c == nil || c.Status != metav1.ConditionTrue {
		return nil
	}
	out := &hold{names: []metav1.Time{c.LastTransitionTime}, message: c.Message}
	if _, rest, ok := strings.Cut(c.Message, contract.DeletionsApprovedAnnotation+"="); ok {
		word, _, _ := strings.Cut(rest, " ")
		if name, err := time.Parse(time.RFC3339, word); err == nil {
			out.names[0] = metav1.NewTime(name)
		}
	}
	number := c.Message
	if _, rest, ok := strings.Cut(c.Message, letsGo); ok {
		number = rest
	}
	if n, err := fmt.Sscanf(number, "%d ", &out.objects); n != 1 || err != nil || out.objects < 0 {
		out.objects = 0
	}
	return out
}
