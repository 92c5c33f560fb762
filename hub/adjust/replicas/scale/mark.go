package scale

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
)

// Mark is what is recorded of a target that was marked for an autoscaler. The zero value is
// that nothing was.
type Mark struct {
	Target

	// UID is the UID of the object which was marked: one of the same name that is made later may have
	// the label from its author. Records of older hubs have none.
	UID types.UID `json:"uid,omitempty"`
}

// On says whether an object has its label from this mark. Where that does not tell the object,
// the API server does: it notes who wrote a label.
func (m Mark) On(obj metav1.Object) bool {
	if m == (Mark{}) || m.UID != "" {
		return m.UID == obj.GetUID()
	}
	label := []byte(`"f:` + contract.RetainReplicasLabel + `"`)
	return slices.ContainsFunc(obj.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == contract.FieldManagerReplicas && e.FieldsV1 != nil && bytes.Contains(e.FieldsV1.GetRawBytes(), label)
	})
}

// Marked returns what was marked for the autoscaler of a binding.
func Marked(b workv1alpha2.Binding) Mark {
	var m Mark
	if json.Unmarshal([]byte(b.GetAnnotations()[contract.ScaleTargetAnnotation]), &m) != nil {
		return Mark{}
	}
	return m
}

// SetMarked records on the binding of an autoscaler what is marked for it.
func SetMarked(b workv1alpha2.Binding, m Mark) error {
	annotations := maps.Clone(b.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	delete(annotations, contract.ScaleTargetAnnotation)
	if m != (Mark{}) {
		raw, err := json.Marshal(m)
		if err != nil {
			return fmt.Errorf("encoding a scale target: %w", err)
		}
		annotations[contract.ScaleTargetAnnotation] = string(raw)
	}
	b.SetAnnotations(annotations)
	return nil
}
