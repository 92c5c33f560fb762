package conversion

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Document is an object, and the file that it came from.
type Document struct {
	File   string
	Object *unstructured.Unstructured
}

// Finding is a remark about the conversion of one object of the other system.
type Finding struct {
	// Refused says that the object cannot be converted. Otherwise the finding says what became of a field.
	Refused bool
	// File is the file, Object the kind and name, and Field the path; a finding about an object as a whole has no
	// field.
	File, Object, Field string
	// Text says what is wrong and what to do, without a full stop.
	Text string
}

// String returns the finding as a line.
func (f Finding) String() string {
	parts := slices.DeleteFunc([]string{f.File, f.Object, f.Field, f.Text}, func(s string) bool { return s == "" })
	return strings.Join(parts, ": ")
}

// Result is the result of a conversion. It does not depend on the order of the documents.
type Result struct {
	// Commands are lines of a shell script that lets the clusters join.
	Commands []string
	// Objects are the converted objects in the order in which to apply them, without refused ones.
	Objects []*unstructured.Unstructured
	// Hints are lines for people, to print above the objects.
	Hints []string
	// Findings are sorted: refusals first, then by file, object and field.
	Findings []Finding
}

// Refused says whether any object was refused.
func (r *Result) Refused() bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Refused })
}

// Sort sorts the findings, and removes duplicates.
func (r *Result) Sort() {
	slices.SortFunc(r.Findings, func(a, b Finding) int {
		if a.Refused != b.Refused {
			if a.Refused {
				return -1
			}
			return 1
		}
		return cmp.Or(strings.Compare(a.File, b.File), strings.Compare(a.Object, b.Object), strings.Compare(a.Field, b.Field), strings.Compare(a.Text, b.Text))
	})
	r.Findings = slices.Compact(r.Findings)
}

// NameOf returns the kind and name of an object for people.
func NameOf(obj *unstructured.Unstructured) string {
	if obj.GetNamespace() == "" {
		return obj.GetKind() + " " + obj.GetName()
	}
	return obj.GetKind() + " " + obj.GetNamespace() + "/" + obj.GetName()
}

// Flatten replaces lists, such as those that `kubectl get -o yaml` prints, by their items.
func Flatten(documents []Document) []Document {
	var out []Document
	for _, d := range documents {
		if !d.Object.IsList() {
			out = append(out, d)
			continue
		}
		items, _ := d.Object.Object["items"].([]any)
		for _, item := range items {
			if content, ok := item.(map[string]any); ok {
				out = append(out, Flatten([]Document{{File: d.File, Object: &unstructured.Unstructured{Object: content}}})...)
			}
		}
	}
	return out
}
