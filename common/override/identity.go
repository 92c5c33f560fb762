package override

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/jsondepth"
)

// maxValue is how many bytes of JSON a value of an override may have.
const maxValue = 256 << 10

// field is a field of an object, and its path as messages have it.
type field struct {
	path string
	keys []string
}

// identity are the fields that say which object it is, or give power over it beyond what is
// in it. No override changes them.
func identity() []field {
	return []field{
		{"/apiVersion", []string{"apiVersion"}},
		{"/kind", []string{"kind"}},
		{"/metadata/name", []string{"metadata", "name"}},
		{"/metadata/namespace", []string{"metadata", "namespace"}},
		{"/metadata/generateName", []string{"metadata", "generateName"}},
		{"/metadata/uid", []string{"metadata", "uid"}},
		{"/metadata/ownerReferences", []string{"metadata", "ownerReferences"}},
		{"/metadata/finalizers", []string{"metadata", "finalizers"}},
	}
}

// grant are the fields that say who may do what. Whoever writes override policies in one
// namespace does not change them.
func grant() []field {
	return []field{{"/roleRef", []string{"roleRef"}}, {"/subjects", []string{"subjects"}}}
}

// remember returns what fields are, to be compared with what they become.
func remember(obj *unstructured.Unstructured, fields []field) []any {
	out := make([]any, len(fields))
	for i, f := range fields {
		value, _, err := unstructured.NestedFieldCopy(obj.Object, f.keys...)
		if err == nil {
			out[i] = value
		}
	}
	return out
}

// changed returns the path of the first field that is not what it was; none if all are.
func changed(obj *unstructured.Unstructured, fields []field, before []any) string {
	for i, value := range remember(obj, fields) {
		if !reflect.DeepEqual(value, before[i]) {
			return fields[i].path
		}
	}
	return ""
}

// bounded says whether the values of a rule are of a sensible size and depth.
func bounded(o *policyv1alpha1.Overriders) error {
	for i := range o.Plaintext {
		if err := boundedValue(o.Plaintext[i].Value.Raw); err != nil {
			return fmt.Errorf("plaintext[%d], path %q: %w", i, o.Plaintext[i].Path, err)
		}
	}
	for i := range o.FieldOverrider {
		for j := range o.FieldOverrider[i].JSON {
			if err := boundedValue(o.FieldOverrider[i].JSON[j].Value.Raw); err != nil {
				return fmt.Errorf("fieldOverrider[%d]: json[%d]: %w", i, j, err)
			}
		}
		for j := range o.FieldOverrider[i].YAML {
			if err := boundedValue(o.FieldOverrider[i].YAML[j].Value.Raw); err != nil {
				return fmt.Errorf("fieldOverrider[%d]: yaml[%d]: %w", i, j, err)
			}
		}
	}
	return nil
}

func boundedValue(raw []byte) error {
	if len(raw) > maxValue {
		return fmt.Errorf("the value has %d bytes, and may have %d; put what is as large into the template", len(raw), maxValue)
	}
	if jsondepth.Of(raw) > jsondepth.MaxValue {
		return fmt.Errorf("the value is nested more than %d levels deep; put what is as deep into the template", jsondepth.MaxValue)
	}
	return nil
}
