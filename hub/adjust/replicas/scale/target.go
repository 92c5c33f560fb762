package scale

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

// Target is what a HorizontalPodAutoscaler scales, in its own namespace. The zero value means none.
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

// TargetOf returns the target of an autoscaler.
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

// GroupVersionKind returns the kind of the target.
func (t Target) GroupVersionKind() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(t.APIVersion, t.Kind)
}

// String returns the kind and name of the target.
func (t Target) String() string { return t.Kind + " " + t.Name }
