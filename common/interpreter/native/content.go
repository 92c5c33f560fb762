package native

import (
	"fmt"
	"maps"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// content is a JSON object, as in unstructured objects.
type content = map[string]any

// contentAt returns the object at a path; nil if there is none.
func contentAt(c content, path ...string) content {
	for _, field := range path {
		next, ok := c[field].(content)
		if !ok {
			return nil
		}
		c = next
	}
	return c
}

// own returns the object at a path after replacing the objects on the way by copies, or by empty objects where there
// are none: changes of the result affect c only, not the object that c is a shallow copy of.
func own(c content, path ...string) content {
	for _, field := range path {
		next, _ := c[field].(content)
		if next = maps.Clone(next); next == nil {
			next = content{}
		}
		c[field] = next
		c = next
	}
	return c
}

// text returns the string of a field; empty if there is none.
func text(c content, field string) string {
	s, _ := c[field].(string)
	return s
}

// number returns the integer in a field; 0 if there is none.
func number(c content, field string) int64 {
	n, _ := lookupNumber(c, field)
	return n
}

// lookupNumber also returns whether the field holds a number.
func lookupNumber(c content, field string) (int64, bool) {
	switch n := c[field].(type) {
	case int64:
		return n, true
	case int:
		return int64(n), true
	case int32:
		return int64(n), true
	case float64:
		return int64(n), true
	default:
		return 0, false
	}
}

// list returns the objects of a list, without other entries.
func list(c content, field string) []content {
	entries, _ := c[field].([]any)
	out := make([]content, 0, len(entries))
	for _, entry := range entries {
		if object, ok := entry.(content); ok {
			out = append(out, object)
		}
	}
	return out
}

// setList sets a list of objects; an empty one is removed.
func setList(c content, field string, entries []content) {
	if len(entries) == 0 {
		delete(c, field)
		return
	}
	out := make([]any, len(entries))
	for i := range entries {
		out[i] = entries[i]
	}
	c[field] = out
}

// take copies a field of live to desired if it exists; both then share the value.
func take(desired, live content, field string) {
	if value, ok := live[field]; ok {
		desired[field] = value
	}
}

// named returns the entry of a list with this name; nil if there is none.
func named(entries []content, name string) content {
	for _, entry := range entries {
		if text(entry, "name") == name {
			return entry
		}
	}
	return nil
}

// labelOf returns a label of an object; empty if it does not exist.
func labelOf(obj content, key string) string {
	return text(contentAt(obj, "metadata", "labels"), key)
}

// into converts an object to a typed one.
func into(c content, typed any) error {
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(c, typed); err != nil {
		return fmt.Errorf("reading %T: %w", typed, err)
	}
	return nil
}

// equal returns whether two statuses are equal. An absent and an empty one are.
func equal(a, b content) bool {
	if len(a) == 0 && len(b) == 0 {
		return true
	}
	return reflect.DeepEqual(a, b)
}

// annotationOf returns an annotation of an object; empty if it does not exist.
func annotationOf(obj content, key string) string {
	return (&unstructured.Unstructured{Object: obj}).GetAnnotations()[key]
}
