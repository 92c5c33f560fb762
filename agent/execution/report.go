package execution

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

// Reporter receives the results of a Work and the state of its objects, and writes the status of the Work. It is
// called concurrently, must not block, and must not change the objects, which are shared with the cache.
type Reporter interface {
	// Report passes the conditions of a Work and the identifiers of its manifests. live has the object of each
	// manifest, nil if there is no news of it. A condition that is not given stays as it is. silent is true for each
	// manifest about which the member does not answer for now: the hub keeps the last status of its object until the
	// object is seen or the member answers. A nil silent means false for all.
	Report(
		work *workv1alpha1.Work, conditions []metav1.Condition, manifests []workv1alpha1.ResourceIdentifier, live []*unstructured.Unstructured, silent []bool,
	)
	// Observe passes an object of the Work as the member shows it. It may come before the first Report of the Work.
	Observe(work types.NamespacedName, live *unstructured.Unstructured)
	// Drifted passes a change in the member that was corrected.
	Drifted(work types.NamespacedName, drift workv1alpha1.Drift)
	// Unseen says that the object can be neither watched nor read, so that its last reported status may be outdated.
	Unseen(work types.NamespacedName, object workv1alpha1.ResourceIdentifier)
	// Gone says that the member no longer has the object.
	Gone(work types.NamespacedName, last *unstructured.Unstructured)
}
