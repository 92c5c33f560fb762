package merge

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Item is the report of one cluster, as unstructured values that are not modified.
type Item struct {
	Cluster string
	// Status is nil if the cluster reported none.
	Status map[string]any
}

// Last returns, for each field, the value in the last status in which it is not empty.
func Last(items []Item, fields []string) map[string]any {
	out := make(map[string]any, len(fields))
	for _, field := range fields {
		for i := range slices.Backward(items) {
			if value := items[i].Status[field]; value != nil && value != "" {
				out[field] = value
				break
			}
		}
	}
	return out
}

// Extreme returns the smallest or largest text in a field; ok is false if there is none. Timestamps sort as texts.
func Extreme(items []Item, field string, largest bool) (extreme string, ok bool) {
	for i := range items {
		if value, is := items[i].Status[field].(string); is && (!ok || (value > extreme) == largest) {
			extreme, ok = value, true
		}
	}
	return extreme, ok
}

// Sum returns the sums of fields. Values that are neither numbers nor numeric texts are ignored.
func Sum(items []Item, fields []string) map[string]any {
	out := make(map[string]any, len(fields))
	for _, field := range fields {
		sum := 0.0
		for i := range items {
			if n, ok := number(items[i].Status[field]); ok {
				sum += n
			}
		}
		out[field] = sum
	}
	return out
}

// ObservedBy returns whether every cluster has observed a generation of the template.
func ObservedBy(items []Item, generation float64) bool {
	for i := range items {
		status := items[i].Status
		seen, ok := number(status["observedGeneration"])
		own, ok2 := number(status["generation"])
		template, ok3 := number(status["resourceTemplateGeneration"])
		if !ok || !ok2 || !ok3 || seen < own || template < generation {
			return false
		}
	}
	return true
}

// Joined joins the items' texts at a path in their status; ok is false if there are none.
func Joined(items []Item, path []string) (joined string, ok bool) {
	out := message{}
	for i := range items {
		var value any = items[i].Status
		for _, name := range path {
			part, _ := value.(map[string]any)
			value = part[name]
		}
		if sentence := text(value); sentence != "" {
			out.add(items[i].Cluster, sentence)
		}
	}
	return out.joined(), len(out.sentences) > 0
}

// Current returns whether an item refers to a generation of the template, or a later one.
func Current(item Item, generation float64) bool {
	of, _ := number(item.Status["resourceTemplateGeneration"])
	return of >= generation
}

// Conditions returns the conditions of all items. Those of the same type, status and reason are merged into one,
// whose message says which cluster reported what.
func Conditions(items []Item) []any {
	type key struct{ kind, status, reason string }
	type entry struct {
		condition map[string]any
		key       key
		message   message
	}
	found, all := map[key]*entry{}, []*entry{}
	for i := range items {
		for _, condition := range conditionsOf(items[i].Status["conditions"]) {
			k := key{word(condition["type"]), word(condition["status"]), word(condition["reason"])}
			one := found[k]
			if one == nil && len(all) < most {
				one = &entry{condition: make(map[string]any, len(condition)), key: k}
				for name, value := range condition {
					if name != "observedGeneration" { // it refers to a member's object, not to the template
						one.condition[name] = value
					}
				}
				found[k], all = one, append(all, one)
			}
			if one != nil {
				one.message.add(items[i].Cluster, text(condition["message"]))
				later(one.condition, condition)
			}
		}
	}
	slices.SortFunc(all, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(a.key.kind, b.key.kind), cmp.Compare(a.key.status, b.key.status), cmp.Compare(a.key.reason, b.key.reason))
	})
	out := make([]any, len(all))
	for i, one := range all {
		one.condition["message"] = one.message.joined()
		out[i] = one.condition
	}
	return out
}

// conditionsOf returns the conditions in a list, without entries that are none.
func conditionsOf(v any) []map[string]any {
	list, _ := v.([]any)
	out := make([]map[string]any, 0, len(list))
	for _, entry := range list {
		if condition, ok := entry.(map[string]any); ok {
			out = append(out, condition)
		}
	}
	return out
}

// later sets the times of a condition to those of another that are later. Timestamps sort as texts.
func later(one, condition map[string]any) {
	for _, field := range []string{"lastTransitionTime", "lastUpdateTime"} {
		at, ok := condition[field].(string)
		if had, known := one[field].(string); ok && (!known || at > had) {
			one[field] = at
		}
	}
}

// word formats a value as part of a key.
func word(v any) string {
	if v == nil {
		return "nil"
	}
	return text(v)
}

// text formats a value as part of a message.
func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case nil, map[string]any, []any:
		return ""
	case float64:
		return strconv.FormatFloat(v, 'g', 14, 64)
	default:
		return fmt.Sprint(v)
	}
}

// number returns a number, which may be given as text.
func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	case string:
		n, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
		return n, err == nil && !math.IsNaN(n) && !math.IsInf(n, 0)
	default:
		return 0, false
	}
}
