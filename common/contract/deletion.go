package contract

// DeletionIntentAnnotation says on a Work why the hub deletes it: one of the words below.
// The hub writes it before it deletes, and no agent can write it. An agent takes objects
// from its member only for a Work that has both a deletion timestamp and such an intent (DeletesObjects): a Work
// that ends without one, with its namespace or at the hand of somebody else, was not meant
// to go, so the agent keeps its objects and lets go of the Work, and the hub makes it again.
const DeletionIntentAnnotation = "fairlead.dev/deletion-intent"

// Values of DeletionIntentAnnotation.
const (
	// DeletionRemoved : the template, its policy or its binding is gone, or the policy no
	// longer selects the template.
	DeletionRemoved = "removed"
	// DeletionMoved : the scheduler or an operator placed the application elsewhere.
	DeletionMoved = "moved"
	// DeletionEvicted : the application was evicted from the cluster.
	DeletionEvicted = "evicted"
	// DeletionClusterLeft : the cluster leaves the fleet. What the Work brought stays in the member, where the agent does
	// what it was told at join once it hears that it was retired. Agents of before do not know the word, and keep what
	// is there as well.
	DeletionClusterLeft = "cluster-left"
	// deletionClusterRemoved is the intent that earlier hubs wrote instead of DeletionClusterLeft. Their agents treated it as an intent
	// like the others.
	deletionClusterRemoved = "cluster-removed"
)

// DeletionIntended says whether the annotations of a Work have an intent that this API knows.
func DeletionIntended(annotations map[string]string) bool {
	switch annotations[DeletionIntentAnnotation] {
	case DeletionRemoved, DeletionMoved, DeletionEvicted, DeletionClusterLeft, deletionClusterRemoved:
		return true
	}
	return false
}

// DeletesObjects says whether the annotations of a Work have an intent by which its agent takes the objects from its
// member. That the cluster leaves the fleet is none: whoever deletes a Cluster locks its agent out, and an agent that
// is faster than that must not take it for more.
func DeletesObjects(annotations map[string]string) bool {
	switch annotations[DeletionIntentAnnotation] {
	case DeletionRemoved, DeletionMoved, DeletionEvicted:
		return true
	}
	return false
}
