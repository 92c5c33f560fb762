package clusters

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

// Tally counts Works by execution namespace.
type Tally map[string]*Works

// Add counts a Work.
func (t Tally) Add(w *workv1alpha1.Work) {
	n := t[w.Namespace]
	if n == nil {
		n = &Works{}
		t[w.Namespace] = n
	}
	n.Total++
	if w.DeletionTimestamp != nil {
		n.Deleting++
		return
	}
	switch applied := meta.FindStatusCondition(w.Status.Conditions, workv1alpha1.WorkApplied); {
	case applied == nil:
	case applied.Status == metav1.ConditionTrue:
		n.Applied++
	default:
		n.Failing++
	}
}

// Of returns the counts of a namespace, which may be zero.
func (t Tally) Of(namespace string) *Works {
	if n := t[namespace]; n != nil {
		return n
	}
	return &Works{}
}
