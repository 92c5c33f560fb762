package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

// Drift is what was corrected in an object.
type Drift struct {
	// Fields are the paths whose values differed from ours, sorted and bounded.
	Fields []string
	// ChangedBy are the field managers that owned them, sorted.
	ChangedBy []string
	// Time is when they last changed the object; zero if it is not known.
	Time time.Time
}

// Undone compares an object before and after it was applied again, both with their managed fields. It returns which
// of the fields that we own had another value, and who had changed them. If there are none there is no drift: fields
// that others set in addition, and values taken over from the member, are theirs.
func Undone(found, applied *unstructured.Unstructured) Drift {
	ours := ownSet(applied)
	if ours == nil {
		return Drift{}
	}
	var drift Drift
	var changed []fieldpath.Path
	ours.Leaves().Iterate(func(path fieldpath.Path) {
		was, had := resolve(found.Object, path)
		is, has := resolve(applied.Object, path)
		if had == has && equality.Semantic.DeepEqual(was, is) {
			return
		}
		changed = append(changed, slices.Clone(path))
	})
	for _, path := range changed {
		drift.Fields = append(drift.Fields, path.String())
	}
	slices.Sort(drift.Fields)
	if more := len(drift.Fields) - workv1alpha1.MaxDriftFields; more > 0 {
		drift.Fields = append(drift.Fields[:workv1alpha1.MaxDriftFields-1], fmt.Sprintf("and %d more", more+1))
	}
	drift.ChangedBy, drift.Time = managersOf(found, changed)
	return drift
}

// managersOf returns the managers that own any of these fields of an object, and when they last changed it. A manager
// that only removed fields owns none; then it is the manager that changed the object most recently after us.
func managersOf(found *unstructured.Unstructured, changed []fieldpath.Path) ([]string, time.Time) {
	var names []string
	var last, ourTime time.Time
	var latest string
	var latestTime time.Time
	for _, entry := range found.GetManagedFields() {
		at := time.Time{}
		if entry.Time != nil {
			at = entry.Time.Time
		}
		if isOurApply(map[string]any{"manager": entry.Manager, "operation": string(entry.Operation), "subresource": entry.Subresource}) {
			ourTime = at
			continue
		}
		if entry.FieldsV1 == nil || entry.Subresource == "status" {
			continue
		}
		if !at.Before(latestTime) {
			latest, latestTime = entry.Manager, at
		}
		set := &fieldpath.Set{}
		if err := set.FromJSON(bytes.NewReader(entry.FieldsV1.GetRawBytes())); err != nil {
			continue
		}
		if slices.ContainsFunc(changed, func(p fieldpath.Path) bool { return touches(set, p) }) {
			names = append(names, entry.Manager)
			if at.After(last) {
				last = at
			}
		}
	}
	if len(names) == 0 && latest != "" && !latestTime.Before(ourTime) {
		return []string{latest}, latestTime
	}
	slices.Sort(names)
	return slices.Compact(names), last
}

// touches returns whether a set contains a path or a prefix of it.
func touches(set *fieldpath.Set, path fieldpath.Path) bool {
	for n := len(path); n > 0; n-- {
		if set.Has(path[:n]) {
			return true
		}
	}
	return false
}

// ownSet returns the fields that our applies own; nil if the object has no managed fields of ours.
func ownSet(obj *unstructured.Unstructured) *fieldpath.Set {
	var all *fieldpath.Set
	for _, entry := range managers(obj) {
		if !isOurApply(entry) {
			continue
		}
		text, err := json.Marshal(entry["fieldsV1"])
		if err != nil {
			return nil
		}
		set := &fieldpath.Set{}
		if set.FromJSON(bytes.NewReader(text)) != nil {
			return nil
		}
		if all != nil {
			set = set.Union(all)
		}
		all = set
	}
	return all
}

// resolve returns the value of an object at a path, and whether there is one.
func resolve(at any, path fieldpath.Path) (any, bool) {
	for _, element := range path {
		var ok bool
		if at, ok = step(at, element); !ok {
			return nil, false
		}
	}
	return at, true
}

func step(at any, element fieldpath.PathElement) (any, bool) {
	if element.FieldName != nil {
		fields, _ := at.(map[string]any)
		found, ok := fields[*element.FieldName]
		return found, ok
	}
	items, _ := at.([]any)
	if element.Index != nil {
		if i := *element.Index; i >= 0 && i < len(items) {
			return items[i], true
		}
		return nil, false
	}
	i := slices.IndexFunc(items, func(item any) bool { return matches(item, element) })
	if i < 0 {
		return nil, false
	}
	return items[i], true
}

// matches returns whether an item of a list is the one that a path element selects.
func matches(item any, element fieldpath.PathElement) bool {
	if element.Value != nil {
		return value.Equals(value.NewValueInterface(item), *element.Value)
	}
	fields, ok := item.(map[string]any)
	if !ok || element.Key == nil {
		return false
	}
	for _, key := range *element.Key {
		got, has := fields[key.Name]
		if !has || !value.Equals(value.NewValueInterface(got), key.Value) {
			return false
		}
	}
	return true
}
