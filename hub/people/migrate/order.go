package migrate

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

// ordered returns objects in an order in which they can be created: namespaces before what is in them, definitions of
// kinds before objects of these, and the rest in its order.
func ordered(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	before := func(obj *unstructured.Unstructured) int {
		switch obj.GroupVersionKind().GroupKind() {
		case schema.GroupKind{Kind: "Namespace"}:
			return 0
		case schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:
			return 1
		}
		return 2
	}
	return slices.SortedStableFunc(slices.Values(objects), func(a, b *unstructured.Unstructured) int { return before(a) - before(b) })
}

// defined returns the kinds that the objects define.
func defined(objects []*unstructured.Unstructured) map[schema.GroupKind]bool {
	out := map[schema.GroupKind]bool{}
	for _, obj := range objects {
		if obj.GetKind() != "CustomResourceDefinition" {
			continue
		}
		group, _, _ := unstructured.NestedString(obj.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(obj.Object, "spec", "names", "kind")
		out[schema.GroupKind{Group: group, Kind: kind}] = true
	}
	return out
}

// isBinding says whether an object is a binding, which the hub will go on to change.
func isBinding(obj *unstructured.Unstructured) bool {
	gvk := obj.GroupVersionKind()
	return gvk.Group == workv1alpha2.GroupVersion.Group && (gvk.Kind == workv1alpha2.KindResourceBinding || gvk.Kind == workv1alpha2.KindClusterResourceBinding)
}

// differingPlacement returns the fields in which two bindings place different things, or place them differently. The
// hub sets all other fields once it takes the object over.
func differingPlacement(wanted, live *unstructured.Unstructured) []string {
	var out []string
	for _, field := range [][]string{{"resource", "apiVersion"}, {"resource", "kind"}, {"resource", "namespace"}, {"resource", "name"}, {"clusters"}} {
		a, _, _ := unstructured.NestedFieldNoCopy(wanted.Object, append([]string{"spec"}, field...)...)
		b, _, _ := unstructured.NestedFieldNoCopy(live.Object, append([]string{"spec"}, field...)...)
		out = append(out, differing("spec."+strings.Join(field, "."), byCluster(a), byCluster(b))...)
	}
	return out
}

// byCluster converts a list of clusters to a form without an order; other values stay as they are.
func byCluster(value any) any {
	list, ok := value.([]any)
	if !ok {
		return value
	}
	out := map[string]any{}
	for _, element := range list {
		if cluster, ok := element.(map[string]any); ok {
			out[fmt.Sprint(cluster["name"])] = cluster
		}
	}
	return out
}

// replaced returns the live object with the content of the wanted object. Labels and annotations that only the live
// object has belong to others, and stay.
func replaced(wanted, live *unstructured.Unstructured) *unstructured.Unstructured {
	out := wanted.DeepCopy()
	for _, field := range []string{"metadata", "status"} {
		delete(out.Object, field)
		if value, has := live.DeepCopy().Object[field]; has {
			out.Object[field] = value
		}
	}
	setAll(out, wanted)
	return out
}

// merged returns the live object with every field of the wanted object set. Fields that an API server generates and
// does not let anybody remove, such as the selector of a Job, stay.
func merged(wanted, live *unstructured.Unstructured) *unstructured.Unstructured {
	out := live.DeepCopy()
	for field, value := range wanted.DeepCopy().Object {
		if field != "metadata" && field != "status" {
			out.Object[field] = mergedValue(out.Object[field], value)
		}
	}
	setAll(out, wanted)
	return out
}

func mergedValue(into, value any) any {
	to, has := into.(map[string]any)
	from, isMap := value.(map[string]any)
	if !has || !isMap {
		return value
	}
	for key, child := range from {
		to[key] = mergedValue(to[key], child)
	}
	return to
}

// setAll sets the labels and annotations of another object, beside those that there are.
func setAll(obj, from *unstructured.Unstructured) {
	for _, each := range []struct {
		get func(*unstructured.Unstructured) map[string]string
		set func(*unstructured.Unstructured, map[string]string)
	}{
		{(*unstructured.Unstructured).GetLabels, (*unstructured.Unstructured).SetLabels},
		{(*unstructured.Unstructured).GetAnnotations, (*unstructured.Unstructured).SetAnnotations},
	} {
		if wanted := each.get(from); len(wanted) > 0 {
			values := each.get(obj)
			if values == nil {
				values = map[string]string{}
			}
			maps.Copy(values, wanted)
			each.set(obj, values)
		}
	}
}

// contentDiffers returns the paths at which two versions of an object differ, except for the status and what an API
// server maintains.
func contentDiffers(a, b *unstructured.Unstructured) []string {
	content := func(obj *unstructured.Unstructured) map[string]any {
		out := maps.Clone(obj.Object)
		delete(out, "status")
		metadata := map[string]any{}
		for field, values := range map[string]map[string]string{"labels": obj.GetLabels(), "annotations": obj.GetAnnotations()} {
			copied := map[string]any{}
			for key, value := range values {
				copied[key] = value
			}
			metadata[field] = copied
		}
		out["metadata"] = metadata
		maps.DeleteFunc(out, func(_ string, value any) bool { // a spec that says nothing
			fields, isMap := value.(map[string]any)
			return isMap && len(fields) == 0
		})
		return out
	}
	return differing("", content(a), content(b))
}

// differing returns the sorted paths at which two values differ.
func differing(at string, a, b any) []string {
	if ofA, ofB, same := bothLists(a, b); same {
		var out []string
		for n := range ofA {
			out = append(out, differing(at+"["+strconv.Itoa(n)+"]", ofA[n], ofB[n])...)
		}
		return out
	}
	ofA, isA := a.(map[string]any)
	ofB, isB := b.(map[string]any)
	if !isA || !isB {
		if reflect.DeepEqual(a, b) {
			return nil
		}
		return []string{at}
	}
	var out []string
	keys := maps.Clone(ofA)
	maps.Copy(keys, ofB)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		path := key
		if at != "" {
			path = at + "." + key
		}
		out = append(out, differing(path, ofA[key], ofB[key])...)
	}
	return out
}

// bothLists says whether two values are lists of the same length.
func bothLists(a, b any) (ofA, ofB []any, same bool) {
	ofA, isA := a.([]any)
	ofB, isB := b.([]any)
	return ofA, ofB, isA && isB && len(ofA) == len(ofB)
}
