package contract

import "k8s.io/apimachinery/pkg/util/resourceversion"

// Older says whether resource version a is certainly older than b, of one kind on one API server.
// Versions that cannot be compared are not: then what is asked about is believed.
func Older(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}
