package fanout

import (
	"encoding/json"
	"fmt"
	"slices"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
)

// removable are the annotations that the hub sets on some Works and removes when they no longer apply, such as the deletion intent, if the
// hub stopped before the deletion and the Work is wanted again. Other annotations belong to other writers.
func removable() []string {
	return []string{
		contract.AppliedOverridesAnnotation, contract.AppliedClusterOverridesAnnotation, contract.DeletionIntentAnnotation,
		contract.RevisionAnnotation, contract.RevisionOfAnnotation, contract.RevisionGenerationAnnotation, contract.RevisionSinceAnnotation,
		contract.RenderedFromAnnotation,
	}
}

// metadataDiffers returns whether a Work lacks a label, an annotation or the finalizer. The mark of what it was rendered from is only
// written together with something else; outdated marks are written later, when the hub has time.
func metadataDiffers(live, desired *workv1alpha1.Work) bool {
	annotations := changedAnnotations(live, desired)
	delete(annotations, contract.RenderedFromAnnotation)
	return len(changed(live.Labels, desired.Labels)) > 0 ||
		len(annotations) > 0 ||
		len(missing(live.Finalizers, desired.Finalizers)) > 0
}

// Patch returns the JSON merge patch that makes the live Work the desired one. It fails on the server if the Work was changed in the
// meantime. It clears managedFields, as kube.Edit's Untracked does, because only the hub and the agent write Works.
func (u Update) Patch() ([]byte, error) {
	metadata := map[string]any{
		"resourceVersion": u.Live.ResourceVersion,
		"managedFields":   []any{map[string]any{}}, // one empty entry clears the list
	}
	if labels := changed(u.Live.Labels, u.Desired.Labels); len(labels) > 0 {
		metadata["labels"] = labels
	}
	if annotations := changedAnnotations(u.Live, u.Desired); len(annotations) > 0 {
		metadata["annotations"] = annotations
	}
	if finalizers := missing(u.Live.Finalizers, u.Desired.Finalizers); len(finalizers) > 0 {
		metadata["finalizers"] = slices.Concat(u.Live.Finalizers, finalizers)
	}
	patch := map[string]any{"metadata": metadata}
	if u.Spec {
		patch["spec"] = u.Desired.Spec
	}
	data, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("encoding the patch of work %q: %w", Key(u.Live), err)
	}
	return data, nil
}

// changed returns the entries that live lacks or has with another value.
func changed(live, desired map[string]string) map[string]any {
	out := map[string]any{}
	for key, value := range desired {
		if have, ok := live[key]; !ok || have != value {
			out[key] = value
		}
	}
	return out
}

func changedAnnotations(live, desired *workv1alpha1.Work) map[string]any {
	out := changed(live.Annotations, desired.Annotations)
	for _, key := range removable() {
		_, have := live.Annotations[key]
		if _, want := desired.Annotations[key]; have && !want {
			out[key] = nil
		}
	}
	return out
}

func missing(live, desired []string) []string {
	var out []string
	for _, f := range desired {
		if !slices.Contains(live, f) {
			out = append(out, f)
		}
	}
	return out
}
