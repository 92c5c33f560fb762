package plan_test

import (
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"fairlead.dev/agent/execution/plan"
)

func TestTakeOver(t *testing.T) {
	t.Parallel()
	owns := func(manager string, operation metav1.ManagedFieldsOperationType, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: operation, APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields)}
	}
	status := owns("karmada-agent", metav1.ManagedFieldsOperationUpdate, `{"f:status":{}}`)
	status.Subresource = "status"
	ours, others := owns("fairlead-agent", metav1.ManagedFieldsOperationApply, `{"f:data":{"f:a":{}}}`), owns("kubectl", metav1.ManagedFieldsOperationUpdate, `{"f:data":{"f:c":{}}}`)
	tests := map[string]struct {
		label   bool
		entries []metav1.ManagedFieldsEntry
		want    []metav1.ManagedFieldsEntry
	}{
		"what an agent applied and updated": {
			entries: []metav1.ManagedFieldsEntry{
				owns("karmada-agent", metav1.ManagedFieldsOperationUpdate, `{"f:data":{"f:b":{}}}`), others, ours,
				owns("karmada-agent", metav1.ManagedFieldsOperationApply, `{"f:data":{"f:a":{},"f:d":{}}}`), status,
			},
			want: []metav1.ManagedFieldsEntry{others, owns("fairlead-agent", metav1.ManagedFieldsOperationApply, `{"f:data":{"f:a":{},"f:b":{},"f:d":{}}}`), status},
		},
		"of KubeFed by its label": {
			label:   true,
			entries: []metav1.ManagedFieldsEntry{ours, owns("controller-manager", metav1.ManagedFieldsOperationUpdate, `{"f:data":{"f:b":{}}}`)},
			want:    []metav1.ManagedFieldsEntry{owns("fairlead-agent", metav1.ManagedFieldsOperationApply, `{"f:data":{"f:a":{},"f:b":{}}}`)},
		},
		"another controller-manager is somebody else": {
			entries: []metav1.ManagedFieldsEntry{ours, owns("controller-manager", metav1.ManagedFieldsOperationUpdate, `{"f:data":{"f:b":{}}}`)},
		},
		"what nobody of another system owns": {entries: []metav1.ManagedFieldsEntry{ours, others, status}},
		"what is not applied by this agent":  {entries: []metav1.ManagedFieldsEntry{owns("karmada-agent", metav1.ManagedFieldsOperationUpdate, `{}`)}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			obj := &unstructured.Unstructured{Object: map[string]any{}}
			obj.SetManagedFields(tt.entries)
			if tt.label {
				obj.SetLabels(map[string]string{"kubefed.io/managed": "true"})
			}
			got, err := plan.TakeOver(obj)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(BeComparableTo(tt.want))
		})
	}
}
