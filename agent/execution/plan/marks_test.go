package plan_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"fairlead.dev/agent/execution/plan"
	"fairlead.dev/common/contract"
)

func TestAnObjectBearsTheMarksOfWhatIsDesiredAndNoOthers(t *testing.T) {
	t.Parallel()
	desired := map[string]any{
		"labels":      map[string]any{contract.ManagedLabel: contract.LabelTrue, contract.WorkPermanentIDLabel: "new", "team": "hub"},
		"annotations": map[string]any{contract.WorkNamespaceAnnotation: "works", contract.WorkNameAnnotation: "web"},
	}
	for name, tc := range map[string]struct{ metadata, want map[string]any }{
		"there are none": {metadata: map[string]any{}, want: map[string]any{
			"labels":      map[string]any{contract.ManagedLabel: contract.LabelTrue, contract.WorkPermanentIDLabel: "new"},
			"annotations": desired["annotations"],
		}},
		"they are no maps": {metadata: map[string]any{"labels": "none", "annotations": []any{}}, want: map[string]any{
			"labels":      map[string]any{contract.ManagedLabel: contract.LabelTrue, contract.WorkPermanentIDLabel: "new"},
			"annotations": desired["annotations"],
		}},
		"those of another": {
			metadata: map[string]any{
				"labels":      map[string]any{contract.ManagedLabel: "false", contract.WorkPermanentIDLabel: "old", contract.ResourceBindingPermanentIDLabel: "old", "team": "till"},
				"annotations": map[string]any{contract.WorkNameAnnotation: "other", contract.LeftByAnnotation: "works/web", contract.RecreatedForAnnotation: "x", "note": "theirs"},
			},
			want: map[string]any{
				"labels":      map[string]any{contract.ManagedLabel: contract.LabelTrue, contract.WorkPermanentIDLabel: "new", "team": "till"},
				"annotations": map[string]any{contract.WorkNamespaceAnnotation: "works", contract.WorkNameAnnotation: "web", "note": "theirs"},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			obj := &unstructured.Unstructured{Object: map[string]any{"metadata": tc.metadata}}
			plan.WithMarksOf(obj, &unstructured.Unstructured{Object: map[string]any{"metadata": desired}})
			g.Expect(obj.Object["metadata"]).To(Equal(tc.want))
		})
	}
}
