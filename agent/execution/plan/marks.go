package plan

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"fairlead.dev/common/contract"
)

// markLabels are the labels that identify an object as the hub's, and its policy, binding and Work.
func markLabels() []string {
	return []string{
		contract.ManagedLabel,
		contract.WorkPermanentIDLabel,
		contract.ResourceBindingPermanentIDLabel,
		contract.ClusterResourceBindingPermanentIDLabel,
		contract.PropagationPolicyPermanentIDLabel,
		contract.ClusterPropagationPolicyPermanentIDLabel,
	}
}

// markAnnotations are the annotations that do the same, and identify its template and how it was made.
func markAnnotations() []string {
	return []string{
		contract.ManagedAnnotationsAnnotation,
		contract.ManagedLabelsAnnotation,
		contract.TemplateUIDAnnotation,
		contract.TemplateGenerationAnnotation,
		contract.ResourceBindingNamespaceAnnotation,
		contract.ResourceBindingNameAnnotation,
		contract.ClusterResourceBindingNameAnnotation,
		contract.WorkNamespaceAnnotation,
		contract.WorkNameAnnotation,
		contract.ConflictResolutionAnnotation,
		contract.PropagationPolicyNamespaceAnnotation,
		contract.PropagationPolicyNameAnnotation,
		contract.ClusterPropagationPolicyNameAnnotation,
		contract.LeftByAnnotation,
		contract.RecreatedForAnnotation,
		contract.ImagePullSecretsAnnotation,
	}
}

// WithMarksOf gives obj, whose labels and annotations may be shared, the marks of desired and no others. Retain rules
// that take over labels or annotations from the member could drop the marks, or keep those of an earlier binding:
// then nobody would recognize the object as ours, report it or delete it.
func WithMarksOf(obj, desired *unstructured.Unstructured) {
	if marked, changed := withKeysOf(obj.GetLabels(), desired.GetLabels(), markLabels()); changed {
		obj.SetLabels(marked)
	}
	if marked, changed := withKeysOf(obj.GetAnnotations(), desired.GetAnnotations(), markAnnotations()); changed {
		obj.SetAnnotations(marked)
	}
}

// withKeysOf returns a map, which it may modify, with another map's values for some keys, and whether they differed.
func withKeysOf(of, other map[string]string, keys []string) (out map[string]string, changed bool) {
	for _, key := range keys {
		had, has := of[key]
		value, wanted := other[key]
		switch {
		case wanted && (!has || had != value):
			if of == nil {
				of = map[string]string{}
			}
			of[key], changed = value, true
		case !wanted && has:
			delete(of, key)
			changed = true
		}
	}
	return of, changed
}
