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

// ownerOf says whose an object is, as seen from a Work. The annotations decide if they
// are there: an object whose managed label somebody took off is still that of its Work.
// An object with the label alone belongs to whoever comes.
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

// Deletable says whether an object may be deleted for a Work: only what carries our
// label and names the Work.
func Deletable(live *unstructured.Unstructured, work types.NamespacedName) bool {
	named, ok := WorkOf(live)
	return ok && named == work && live.GetLabels()[contract.ManagedLabel] == contract.LabelTrue
}

// Decisive says whether an object as an informer shows it, which may be behind, is enough
// to go by when its Work is deleted. One that is on its way out is not: by now there may
// be another one of its name, which we made.
func Decisive(seen *unstructured.Unstructured, work types.NamespacedName) bool {
	return seen != nil && seen.GetDeletionTimestamp() == nil && Deletable(seen, work)
}

// IsOfAnother says whether an object is of another Work than what is desired, though of its name: that of another hub, to which the cluster has the
// same name, or of another binding. A Work of a binding keeps its permanent id for as long as it is there, and so does what was applied of it. What has none, as
// what people make Works of by hand, is known by the name alone.
func IsOfAnother(live, desired *unstructured.Unstructured) bool {
	if desired == nil {
		return false
	}
	return differ(live.GetLabels()[contract.WorkPermanentIDLabel], desired.GetLabels()[contract.WorkPermanentIDLabel])
}

// IsOfAnotherThan says the same of an object of which the metadata is known, and a Work of its name.
func IsOfAnotherThan(live metav1.Object, work *workv1alpha1.Work) bool {
	return differ(live.GetLabels()[contract.WorkPermanentIDLabel], permanentID(work))
}

// permanentID returns that of a Work. The journal keeps no labels of Works, but what they carry bears it, too.
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

// differ says whether two permanent ids are there and are not the same.
func differ(id, other string) bool { return id != "" && other != "" && id != other }

// OfAnotherMessage says why such an object is left alone, and what to do.
func OfAnotherMessage(object Object) string {
	return fmt.Sprintf("%s stays as it is: its label %s says that it is of another Work of this name, made by another hub to which this cluster has the same name, or for a binding that was made anew since; "+
		"if nobody needs it, delete it in the member", object, contract.WorkPermanentIDLabel)
}

// Releasable says whether an object that stays may lose our marks for a Work.
func Releasable(live *unstructured.Unstructured, work types.NamespacedName) bool {
	return ownerOf(live, work) == ours
}

// Release returns the merge patch that takes our marks off an object, if it is still
// the one with this UID. It returns nil if the object bears none.
func Release(live *unstructured.Unstructured) map[string]any {
	labels := nulls(live.GetLabels(),
		contract.ManagedLabel,
		contract.WorkPermanentIDLabel,
		contract.ResourceBindingPermanentIDLabel,
		contract.ClusterResourceBindingPermanentIDLabel,
		contract.PropagationPolicyPermanentIDLabel,
		contract.ClusterPropagationPolicyPermanentIDLabel,
	)
	annotations := nulls(live.GetAnnotations(),
		contract.ManagedAnnotationsAnnotation,
		contract.ManagedLabelsAnnotation,
		contract.TemplateUIDAnnotation,
		contract.TemplateGenerationAnnotation,
		contract.ResourceBindingNamespaceAnnotation,
		contract.ResourceBindingNameAnnotation,
		contract.ClusterResourceBindingNameAnnotation,
		contract.WorkNamespaceAnnotation,
		contract.WorkNameAnnotation,
		contract.ConflictResolutionAnnotation,
		contract.PropagationPolicyNamespaceAnnotation,
		contract.PropagationPolicyNameAnnotation,
		contract.ClusterPropagationPolicyNameAnnotation,
		contract.LeftByAnnotation,
		contract.RecreatedForAnnotation,
		contract.ImagePullSecretsAnnotation,
	)
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

// LeaveBehind returns the merge patch that takes our marks off an object that stays after an
// eviction, and notes on it which Work takes it over again. It returns nil if the object
// bears no mark.
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

// nulls returns a null for each key that is there.
func nulls(have map[string]string, keys ...string) map[string]any {
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
