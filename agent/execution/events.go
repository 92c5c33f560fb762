package execution

// Reasons of the events on Works that this stage emits; those of the Work's status are
// emitted by package status.
const (
	// reasonDeletionStuck : an object was deleted and does not go.
	reasonDeletionStuck = "DeletionStuck"
	// reasonDeletionFailed : the member refuses to delete an object.
	reasonDeletionFailed = "DeletionFailed"
	// reasonLeftInMember : a Namespace or a CustomResourceDefinition is not deleted because of
	// objects in it that are not from the hub, or an object is left alone that is of another Work of the name.
	reasonLeftInMember = "LeftInMember"
	// reasonContentsWanted : a Namespace or a CustomResourceDefinition is not deleted yet because of
	// objects in it that other Works still want, or are about to delete.
	reasonContentsWanted = "ContentsWanted"
	// reasonUnclaimed : objects in the member name a Work that does not have them.
	reasonUnclaimed = "Unclaimed"
)

// Actions of the events.
const (
	actionDelete = "Delete"
	actionLookUp = "LookUp"
)
