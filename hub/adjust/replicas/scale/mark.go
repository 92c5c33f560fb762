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

// Mark is the record of a target that was labelled for an autoscaler. The zero value means none.
type Mark struct {
	Target

	// UID is the UID of the labelled object: a later object of the same name may have the label from its author.
	// Records of older hubs have none.
	UID types.UID `json:"uid,omitempty"`
}

// On says whether an object has its label from this mark. If the mark has no UID, managedFields tell who set the label.
func (m Mark) On(obj metav1.Object) bool {
	if m == (Mark{}) || m.UID != "" {
		return m.UID == obj.GetUID()
	}
	label := []byte(`"f:` + contract.RetainReplicasLabel + `"`)
	return slices.ContainsFunc(obj.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == contract.FieldManagerReplicas && e.FieldsV1 != nil && bytes.Contains(e.FieldsV1.GetRawBytes(), label)
	})
}

// Marked returns the mark recorded on an autoscaler's binding.
func Marked(b workv1alpha2.Binding) Mark {
	var m Mark
	if json.Unmarshal([]byte(b.GetAnnotations()[contract.ScaleTargetAnnotation]), &m) != nil {
		return Mark{}
	}
	return m
}

// SetMarked records a mark on an autoscaler's binding.
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
