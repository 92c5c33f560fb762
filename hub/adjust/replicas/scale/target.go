package scale

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
)

// Target is what a HorizontalPodAutoscaler scales, in its own namespace. The zero value is
// nothing.
type Target struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
}

// IsAutoscaler says whether a template is a HorizontalPodAutoscaler, of any version.
func IsAutoscaler(ref workv1alpha2.ObjectReference) bool {
	kind := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	return kind.Group == "autoscaling" && kind.Kind == "HorizontalPodAutoscaler"
}

// TargetOf returns what an autoscaler scales.
func TargetOf(autoscaler *unstructured.Unstructured) (Target, error) {
	ref, _, err := unstructured.NestedStringMap(autoscaler.Object, "spec", "scaleTargetRef")
	if err != nil {
		return Target{}, fmt.Errorf("reading spec.scaleTargetRef: %w", err)
	}
	t := Target{APIVersion: ref["apiVersion"], Kind: ref["kind"], Name: ref["name"]}
	if t.APIVersion == "" || t.Kind == "" || t.Name == "" {
		return Target{}, errors.New("reading spec.scaleTargetRef: it must have apiVersion, kind and name")
	}
	return t, nil
}

// GroupVersionKind is that of the target.
func (t Target) GroupVersionKind() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(t.APIVersion, t.Kind)
}

// String names the target for people.
func (t Target) String() string { return t.Kind + " " + t.Name }

// Marked returns the target that was marked for the autoscaler of a binding; the zero value
// if none was.
func Marked(b workv1alpha2.Binding) Target {
	var t Target
	if json.Unmarshal([]byte(b.GetAnnotations()[contract.ScaleTargetAnnotation]), &t) != nil {
		return Target{}
	}
	return t
}

// SetMarked records on the binding of an autoscaler which target is marked for it.
func SetMarked(b workv1alpha2.Binding, t Target) error {
	annotations := maps.Clone(b.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	delete(annotations, contract.ScaleTargetAnnotation)
	if t != (Target{}) {
		raw, err := json.Marshal(t)
		if err != nil {
			return fmt.Errorf("encoding a scale target: %w", err)
		}
		annotations[contract.ScaleTargetAnnotation] = string(raw)
	}
	b.SetAnnotations(annotations)
	return nil
}
