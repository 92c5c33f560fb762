package override

import (
	"fmt"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/jsondepth"
)

// maxValue bounds a value of an override, in bytes of JSON.
const maxValue = 256 << 10

// field is a field of an object, with its path as messages show it.
type field struct {
	path string
	keys []string
	// grants says that an administrator may change it.
	grants bool
}

// fieldsAt returns the fields at paths whose names contain no slash.
func fieldsAt(grants bool, paths ...string) []field {
	out := make([]field, len(paths))
	for i, path := range paths {
		out[i] = field{path: path, keys: strings.Split(path[1:], "/"), grants: grants}
	}
	return out
}

// identity returns the fields that identify the object, or give power beyond its content. No override changes them.
func identity() []field {
	return fieldsAt(false, "/apiVersion", "/kind", "/metadata/name", "/metadata/namespace", "/metadata/generateName", "/metadata/uid",
		"/metadata/ownerReferences", "/metadata/finalizers")
}

// grant returns the fields of an object that grant rights or set limits. Authors of override policies in a namespace
// may not change them: they may write workloads there, but no such objects. They may change labels and annotations of
// these objects, as a policy for everything in its namespace does.
func grant(kind schema.GroupVersionKind) []field {
	out := fieldsAt(true, "/roleRef", "/subjects", "/rules", "/aggregationRule")
	if kind.Group == corev1.GroupName && (kind.Kind == "ResourceQuota" || kind.Kind == "LimitRange") {
		out = append(out, fieldsAt(true, "/spec")...)
	}
	return out
}

// remember returns the values of fields, for a later comparison.
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

// unchanged returns an error that names the first field whose value changed.
func unchanged(obj *unstructured.Unstructured, fields []field, before []any) error {
	for i, f := range fields {
		value, _, err := unstructured.NestedFieldNoCopy(obj.Object, f.keys...)
		switch {
		case err == nil && reflect.DeepEqual(value, before[i]), err != nil && before[i] == nil:
		case f.grants:
			return fmt.Errorf("it changes %s of a %s, which grants rights or sets limits, and an OverridePolicy must not: "+
				"take it out of the overriders, or use a ClusterOverridePolicy", f.path, obj.GetKind())
		default:
			return fmt.Errorf("it changes %s, which no override may; take it out of the overriders", f.path)
		}
	}
	return nil
}

// bounded returns an error if a value of a rule is missing where it is needed, too large or too deep.
func bounded(o *policyv1alpha1.Overriders) error {
	for i := range o.Plaintext {
		if err := boundedValue(o.Plaintext[i].Operator, o.Plaintext[i].Value.Raw); err != nil {
			return fmt.Errorf("plaintext[%d], path %q: %w", i, o.Plaintext[i].Path, err)
		}
	}
	for i := range o.FieldOverrider {
		for j := range o.FieldOverrider[i].JSON {
			if err := boundedValue(o.FieldOverrider[i].JSON[j].Operator, o.FieldOverrider[i].JSON[j].Value.Raw); err != nil {
				return fmt.Errorf("fieldOverrider[%d]: json[%d]: %w", i, j, err)
			}
		}
		for j := range o.FieldOverrider[i].YAML {
			if err := boundedValue(o.FieldOverrider[i].YAML[j].Operator, o.FieldOverrider[i].YAML[j].Value.Raw); err != nil {
				return fmt.Errorf("fieldOverrider[%d]: yaml[%d]: %w", i, j, err)
			}
		}
	}
	return nil
}

func boundedValue(op policyv1alpha1.OverriderOperator, raw []byte) error {
	if err := needsValue(op, raw); err != nil {
		return err
	}
	if len(raw) > maxValue {
		return fmt.Errorf("the value has %d bytes, and may have %d; put what is as large into the template", len(raw), maxValue)
	}
	if jsondepth.Of(raw) > jsondepth.MaxValue {
		return fmt.Errorf("the value is nested more than %d levels deep; put what is as deep into the template", jsondepth.MaxValue)
	}
	return nil
}
