package bindings

// IsForeign returns whether a workload is in another namespace than an object that it needs. Then the object is
// somebody else's, who lets it be referred to and may take that back. What is in no namespace an administrator made.
func IsForeign(workload, object string) bool {
	return workload != "" && object != "" && workload != object
}
