package contract

// DeletionIntentAnnotation on a Work says why the hub deletes it: one of the values below. The hub writes it before
// it deletes, and no agent can write it. An agent deletes objects from its member only for a Work that has both a
// deletion timestamp and such an intent (DeletesObjects). A Work that is deleted without one, with its namespace or
// by somebody else, was not meant to be deleted, so the agent keeps its objects and removes its finalizer, and the
// hub creates the Work again.
const DeletionIntentAnnotation = "fairlead.dev/deletion-intent"

// Values of DeletionIntentAnnotation.
const (
	// DeletionRemoved means that the template, its policy or its binding was deleted, or the policy no longer selects
	// the template.
	DeletionRemoved = "removed"
	// DeletionMoved means that the scheduler or an operator placed the application elsewhere.
	DeletionMoved = "moved"
	// DeletionEvicted means that the application was evicted from the cluster.
	DeletionEvicted = "evicted"
	// DeletionClusterLeft means that the cluster leaves the fleet. The Work's objects stay in the member, where the
	// agent does what was chosen at the join once it learns that it was retired. Older agents do not know the value,
	// and keep the objects as well.
	DeletionClusterLeft = "cluster-left"
	// deletionClusterRemoved is the intent that older hubs wrote instead of DeletionClusterLeft. Their agents treated
	// it like the other intents.
	deletionClusterRemoved = "cluster-removed"
)

// DeletionIntended returns whether the annotations of a Work have a known intent.
func DeletionIntended(annotations map[string]string) bool {
	switch annotations[DeletionIntentAnnotation] {
	case DeletionRemoved, DeletionMoved, DeletionEvicted, DeletionClusterLeft, deletionClusterRemoved:
		return true
	}
	return false
}

// DeletesObjects returns whether the annotations of a Work have an intent with which its agent deletes the objects.
// That the cluster leaves the fleet is none: whoever deletes a Cluster locks its agent out, and an agent that is
// faster than that must not delete its objects.
func DeletesObjects(annotations map[string]string) bool {
	switch annotations[DeletionIntentAnnotation] {
	case DeletionRemoved, DeletionMoved, DeletionEvicted:
		return true
	}
	return false
}
