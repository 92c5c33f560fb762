package plan

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"fairlead.dev/common/contract"
)

// TakeOver returns the managed fields of an object after what another system's agent owns was
// given to this one; nothing if there is nothing to give. Without it a field that the other
// agent set would stay for ever once the template drops it: the API server would keep it for an
// owner that is gone.
//
// It is for an object that this agent has applied. What is handed over goes with the next
// apply that does not set it.
func TakeOver(obj *unstructured.Unstructured) ([]metav1.ManagedFieldsEntry, error) {
	entries := obj.GetManagedFields()
	kubeFed := obj.GetLabels()[kubeFedLabel] != ""
	former := func(e metav1.ManagedFieldsEntry) bool {
		return e.Subresource == "" && e.FieldsV1 != nil && isFormer(e.Manager, kubeFed)
	}
	ours := slices.IndexFunc(entries, func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == contract.FieldManagerAgent && e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == "" && e.FieldsV1 != nil
	})
	if ours < 0 || !slices.ContainsFunc(entries, former) {
		return nil, nil
	}
	all := &fieldpath.Set{}
	for i, e := range entries {
		if i != ours && !former(e) {
			continue
		}
		set := &fieldpath.Set{}
		if err := set.FromJSON(e.FieldsV1.GetRawReader()); err != nil {
			return nil, fmt.Errorf("reading what %q owns: %w", e.Manager, err)
		}
		all = all.Union(set)
	}
	raw, err := all.ToJSON()
	if err != nil {
		return nil, fmt.Errorf("encoding what the agent owns: %w", err)
	}
	entries = slices.Clone(entries)
	entries[ours].FieldsV1 = metav1.NewFieldsV1(string(raw))
	return slices.DeleteFunc(entries, former), nil
}

// kubeFedLabel is on what KubeFed sends.
const kubeFedLabel = "kubefed.io/managed"

// isFormer says whether a field manager is of another system that a member can come from: of
// Karmada its agent, or its hub, which writes into members in push mode; of KubeFed its only
// program, one of whose names others have too.
func isFormer(manager string, kubeFed bool) bool {
	switch manager {
	case "karmada-agent", "karmada-controller-manager", "hyperfed":
		return true
	case "controller-manager":
		return kubeFed
	}
	return false
}
