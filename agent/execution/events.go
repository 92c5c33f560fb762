package execution

// Reasons of the events about Works that this stage emits; package status emits those about the Work's status.
const (
	// reasonDeletionStuck means that a deleted object does not disappear.
	reasonDeletionStuck = "DeletionStuck"
	// reasonDeletionFailed means that the member refuses to delete an object.
	reasonDeletionFailed = "DeletionFailed"
	// reasonLeftInMember means that a Namespace or a CustomResourceDefinition is not deleted because of objects in it
	// that are not from the hub, or an object is left alone because it belongs to another Work of the same name.
	reasonLeftInMember = "LeftInMember"
	// reasonContentsWanted means that a Namespace or a CustomResourceDefinition is not deleted yet because other
	// Works still want objects in it, or have yet to delete them; or an RBAC object is not, because those deletions
	// may need its rights.
	reasonContentsWanted = "ContentsWanted"
	// reasonUnclaimed means that objects in the member name a Work that does not contain them.
	reasonUnclaimed = "Unclaimed"
)

// Actions of the events.
const (
	actionDelete = "Delete"
	actionLookUp = "LookUp"
)
