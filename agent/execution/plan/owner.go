package plan

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
)

// owner is whose an object of the member is.
type owner int

const (
	nobody owner = iota
	ours
	another
)

// ownerOf returns whose an object is, from the view of a Work. The annotations decide if they exist: an object whose
// managed label was removed still belongs to its Work. An object with the label alone may be claimed by any Work.
func ownerOf(live *unstructured.Unstructured, work types.NamespacedName) owner {
	if named, ok := WorkOf(live); ok {
		if named == work {
			return ours
		}
		return another
	}
	if live.GetLabels()[contract.ManagedLabel] == contract.LabelTrue || live.GetAnnotations()[contract.LeftByAnnotation] == work.String() {
		return ours
	}
	return nobody
}

// WorkOf returns the Work that an object names as its own, and whether it names one.
func WorkOf(live metav1.Object) (types.NamespacedName, bool) {
	annotations := live.GetAnnotations()
	work := types.NamespacedName{
		Namespace: annotations[contract.WorkNamespaceAnnotation],
		Name:      annotations[contract.WorkNameAnnotation],
	}
	return work, work.Namespace != "" && work.Name != ""
}

// Deletable returns whether an object may be deleted for a Work: only if it has our label and names the Work.
func Deletable(live *unstructured.Unstructured, work types.NamespacedName) bool {
	named, ok := WorkOf(live)
	return ok && named == work && live.GetLabels()[contract.ManagedLabel] == contract.LabelTrue
}

// Decisive returns whether an object in an informer, which may lag, is sufficient to delete it when its Work ends.
// One in deletion is not: by now there may be another one of its name, created by us.
func Decisive(seen *unstructured.Unstructured, work types.NamespacedName) bool {
	return seen != nil && seen.GetDeletionTimestamp() == nil && Deletable(seen, work)
}

// IsOfAnother returns whether an object belongs to another Work of the same name than the desired object: from
// another hub where the cluster has the same name, or from another binding. A Work keeps its binding's permanent ID
// for its lifetime, and so do the objects applied for it. Objects without one, such as those of hand-written Works,
// are identified by name alone.
func IsOfAnother(live, desired *unstructured.Unstructured) bool {
	if desired == nil {
		return false
	}
	return differ(live.GetLabels()[contract.WorkPermanentIDLabel], desired.GetLabels()[contract.WorkPermanentIDLabel])
}

// IsOfAnotherThan does the same for an object's metadata and a Work of its name.
func IsOfAnotherThan(live metav1.Object, work *workv1alpha1.Work) bool {
	return differ(live.GetLabels()[contract.WorkPermanentIDLabel], permanentID(work))
}

// permanentID returns the permanent ID of a Work. The journal does not store labels of Works, but the manifests have
// it too.
func permanentID(work *workv1alpha1.Work) string {
	if id := work.Labels[contract.WorkPermanentIDLabel]; id != "" {
		return id
	}
	for _, m := range Parse(work) {
		if m.Desired != nil && m.Desired.GetLabels()[contract.WorkPermanentIDLabel] != "" {
			return m.Desired.GetLabels()[contract.WorkPermanentIDLabel]
		}
	}
	return ""
}

// differ returns whether two permanent IDs exist and differ.
func differ(id, other string) bool { return id != "" && other != "" && id != other }

// OfAnotherMessage explains why such an object is left alone, and what to do.
func OfAnotherMessage(object Object) string {
	return fmt.Sprintf("%s stays as it is: its label %s names another Work of this name, made by another hub on which this cluster has the same name, or for a binding that was created again since; "+
		"if nobody needs it, delete it in the member", object, contract.WorkPermanentIDLabel)
}

// Releasable returns whether our marks may be removed, for a Work, from an object that stays.
func Releasable(live *unstructured.Unstructured, work types.NamespacedName) bool {
	return ownerOf(live, work) == ours
}

// Release returns the merge patch that removes our marks from an object, with its UID as precondition. It is nil if
// the object has none.
func Release(live *unstructured.Unstructured) map[string]any {
	labels := nulls(live.GetLabels(), markLabels())
	annotations := nulls(live.GetAnnotations(), markAnnotations())
	if labels == nil && annotations == nil {
		return nil
	}
	metadata := map[string]any{"uid": string(live.GetUID())}
	if labels != nil {
		metadata["labels"] = labels
	}
	if annotations != nil {
		metadata["annotations"] = annotations
	}
	return map[string]any{"metadata": metadata}
}

// LeaveBehind returns the merge patch that removes our marks from an object that stays after an eviction, and records
// on it which Work may claim it again. It is nil if the object has no mark.
func LeaveBehind(live *unstructured.Unstructured, work types.NamespacedName) map[string]any {
	patch := Release(live)
	if patch == nil {
		return nil
	}
	metadata, ok := patch["metadata"].(map[string]any)
	if !ok {
		return patch
	}
	annotations, ok := metadata["annotations"].(map[string]any)
	if !ok {
		annotations = map[string]any{}
		metadata["annotations"] = annotations
	}
	annotations[contract.LeftByAnnotation] = work.String()
	return patch
}

// nulls returns a map with null for each of the keys that exist.
func nulls(have map[string]string, keys []string) map[string]any {
	var out map[string]any
	for _, key := range keys {
		if _, ok := have[key]; !ok {
			continue
		}
		if out == nil {
			out = map[string]any{}
		}
		out[key] = nil
	}
	return out
}
