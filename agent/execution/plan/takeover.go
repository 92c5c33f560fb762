package plan

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"fairlead.dev/common/contract"
)

// TakeOver returns the managed fields of an object after the fields of another system's agent were transferred to
// this one; nil if there are none. Without the transfer, a field that the other agent set would stay for ever once
// the template drops it: the API server would keep it for an owner that is gone.
//
// It is for an object that this agent has applied. Transferred fields disappear with the next apply that does not set
// them.
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

// kubeFedLabel is on objects that KubeFed manages.
const kubeFedLabel = "kubefed.io/managed"

// isFormer returns whether a field manager belongs to another system that a member may come from: Karmada's agent, or
// its hub, which writes to members in push mode; or KubeFed's only program, one of whose names is not unique.
func isFormer(manager string, kubeFed bool) bool {
	switch manager {
	case "karmada-agent", "karmada-controller-manager", "hyperfed":
		return true
	case "controller-manager":
		return kubeFed
	}
	return false
}
