package render

import (
	"errors"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/division"
)

// ErrRevise means that the rules of the kind could not set the replicas. A webhook may succeed later.
var ErrRevise = errors.New("setting the replicas")

// reviseReplicas returns a copy of a workload's template with the cluster's replicas. It does so even if every cluster gets all of them, so
// that a scaled template waits for the scheduler in any case.
func reviseReplicas(in Input) (*unstructured.Unstructured, error) {
	base, err := withoutManagedFields(in.Template)
	if err != nil {
		return nil, err
	}
	spec := in.Binding.BindingSpec()
	if !bindings.IsWorkload(spec) || in.Revise == nil {
		return base.DeepCopy(), nil
	}
	obj, err := in.Revise(base, in.Target.Replicas)
	if err != nil {
		return nil, fmt.Errorf("%w to %d: %w", ErrRevise, in.Target.Replicas, err)
	}
	// A rule copies only what it changes, while overrides may change anything.
	return obj.DeepCopy(), nil
}

// withoutManagedFields avoids copying what is often half of an object.
func withoutManagedFields(template *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	metadata, ok := template.Object["metadata"].(map[string]any)
	if !ok {
		return nil, errors.New("the template has no metadata")
	}
	if _, ok := metadata["managedFields"]; !ok {
		return template, nil
	}
	metadata = maps.Clone(metadata)
	delete(metadata, "managedFields")
	object := maps.Clone(template.Object)
	object["metadata"] = metadata
	return &unstructured.Unstructured{Object: object}, nil
}

// sharesCompletions returns whether clusters share the completions of a kind, so that the share of one depends on all.
func sharesCompletions(kind string, spec *workv1alpha2.ResourceBindingSpec) bool {
	return kind == "Job" && bindings.Divided(spec)
}

// reviseCompletions gives a divided Job the cluster's share of its completions, in proportion to the replicas.
func reviseCompletions(obj *unstructured.Unstructured, in Input) error {
	spec := in.Binding.BindingSpec()
	if !sharesCompletions(obj.GetKind(), spec) {
		return nil
	}
	completions, found, err := unstructured.NestedInt64(obj.Object, "spec", "completions")
	if err != nil {
		return fmt.Errorf("reading spec.completions: %w", err)
	}
	if !found {
		return nil
	}
	if completions < 0 || completions > 1<<31-1 {
		return fmt.Errorf("spec.completions is %d, which is not a number of pods", completions)
	}
	var sum int64
	var parties []division.Party
	for _, target := range bindings.Targets(spec) {
		sum += int64(target.Replicas)
		parties = append(parties, division.Party{Name: target.Name, Weight: int64(target.Replicas)})
	}
	if sum == 0 {
		return nil
	}
	for _, party := range division.Webster(int32(completions), parties, division.DescendingTies(string(in.Template.GetUID()))) {
		if party.Name == in.Target.Name {
			return unstructured.SetNestedField(obj.Object, int64(party.Share), "spec", "completions")
		}
	}
	return nil
}
