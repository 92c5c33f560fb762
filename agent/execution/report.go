package execution

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

// Reporter is told what came of a Work and what is seen of its objects; it writes the
// status of the Work. It is called by many goroutines, must not block, and must not
// change the objects that it is given, which are shared with the cache.
type Reporter interface {
	// Report takes over the conditions of a Work and the names of its manifests. Live has
	// the object of each manifest, and nil where there is no news of it. A condition that
	// is not given stays as it is.
	Report(work *workv1alpha1.Work, conditions []metav1.Condition, manifests []workv1alpha1.ResourceIdentifier, live []*unstructured.Unstructured)
	// Observe takes over what the member shows of an object of the Work. It may come
	// before the first Report of the Work.
	Observe(work types.NamespacedName, live *unstructured.Unstructured)
	// Drifted takes over what was changed in the member, and put back.
	Drifted(work types.NamespacedName, drift workv1alpha1.Drift)
	// Unseen says that the object can be neither watched nor read: what was reported of it is of any age.
	Unseen(work types.NamespacedName, object workv1alpha1.ResourceIdentifier)
	// Gone says that the member no longer has the object.
	Gone(work types.NamespacedName, last *unstructured.Unstructured)
}
