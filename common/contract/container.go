package contract

// IsContainer returns whether deleting an object of a kind deletes others: those in a Namespace, or those of the kind
// that a CustomResourceDefinition defines.
func IsContainer(group, kind string) bool {
	return group == "" && kind == "Namespace" || group == "apiextensions.k8s.io" && kind == "CustomResourceDefinition"
}
