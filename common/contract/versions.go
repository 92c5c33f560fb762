package contract

import "k8s.io/apimachinery/pkg/util/resourceversion"

// Older returns whether resourceVersion a is certainly older than b, for one kind on one API server. Versions that
// cannot be compared are not older.
func Older(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}
