package plan

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

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
