package diff

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/aymanbagabas/go-udiff"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
)

// around is how many lines of context are shown, as by diff -u.
const around = 3

// Objects returns the unified diff of two values as YAML; empty if they are equal.
func Objects(fromName, toName string, from, to any) (string, error) {
	before, err := YAML(from, maxYAML)
	if err != nil {
		return "", fmt.Errorf("encoding %s: %w", fromName, err)
	}
	after, err := YAML(to, maxYAML)
	if err != nil {
		return "", fmt.Errorf("encoding %s: %w", toName, err)
	}
	text, err := udiff.ToUnified(fromName, toName, before, udiff.Lines(before, after), around)
	if err != nil {
		return "", fmt.Errorf("comparing %s with %s: %w", fromName, toName, err)
	}
	return text, nil
}

// Content is the part of a Work that its agent acts on.
type Content struct {
	Manifests []map[string]any `json:"manifests"`
	Suspended bool             `json:"suspendDispatching,omitempty"`
	Preserved bool             `json:"preserveResourcesOnDeletion,omitempty"`
}

// ContentOf returns the content of a Work, with secrets masked. It does not change the Work.
func ContentOf(work *workv1alpha1.Work, mask Mask) (Content, error) {
	out := Content{
		Suspended: work.Spec.SuspendDispatching != nil && *work.Spec.SuspendDispatching,
		Preserved: work.Spec.PreserveResourcesOnDeletion != nil && *work.Spec.PreserveResourcesOnDeletion,
	}
	for i := range work.Spec.Workload.Manifests {
		object := map[string]any{}
		if err := json.Unmarshal(work.Spec.Workload.Manifests[i].Raw, &object); err != nil {
			return Content{}, fmt.Errorf("reading manifest %d of Work %s/%s: %w", i, work.Namespace, work.Name, err)
		}
		out.Manifests = append(out.Manifests, mask.Object(object))
	}
	return out, nil
}

// Unmarked returns the content without the marks that differ between clusters, to compare clusters.
func (c Content) Unmarked() Content {
	out := c
	out.Manifests = nil
	for _, object := range c.Manifests {
		object = maps.Clone(object)
		if metadata, ok := object["metadata"].(map[string]any); ok {
			metadata = maps.Clone(metadata)
			for _, field := range []string{"labels", "annotations"} {
				if values, ok := metadata[field].(map[string]any); ok {
					values = maps.Clone(values)
					maps.DeleteFunc(values, func(key string, _ any) bool { return marks()[key] })
					metadata[field] = values
				}
			}
			object["metadata"] = metadata
		}
		out.Manifests = append(out.Manifests, object)
	}
	return out
}

// marks are the keys by which a manifest names its Work, and those that list all keys.
func marks() map[string]bool {
	return map[string]bool{
		contract.WorkPermanentIDLabel: true, contract.WorkNamespaceAnnotation: true, contract.WorkNameAnnotation: true,
		contract.ManagedLabelsAnnotation: true, contract.ManagedAnnotationsAnnotation: true,
	}
}
