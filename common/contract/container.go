package contract

// IsContainer says of a kind whether the deletion of an object of it deletes others: those in a Namespace, or those of the kind that a
// CustomResourceDefinition defines.
func IsContainer(group, kind string) bool {
	return group == "" && kind == "Namespace" || group == "apiextensions.k8s.io" && kind == "CustomResourceDefinition"
}
