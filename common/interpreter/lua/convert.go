package lua

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/quantity"
)

// listOf converts items for scripts; nil if there are none.
func listOf(items []workv1alpha2.AggregatedStatusItem) (any, error) {
	if items == nil {
		return nil, nil
	}
	out := make([]any, 0, len(items))
	for i := range items {
		it := &items[i]
		table := map[string]any{"clusterName": it.ClusterName}
		if it.Status != nil && len(it.Status.Raw) > 0 {
			var status any
			if err := json.Unmarshal(it.Status.Raw, &status); err != nil {
				return nil, fmt.Errorf("reading what cluster %q reported: %w", it.ClusterName, err)
			}
			table["status"] = status
		}
		if it.Applied {
			table["applied"] = true
		}
		if it.AppliedMessage != "" {
			table["appliedMessage"] = it.AppliedMessage
		}
		if it.Health != "" {
			table["health"] = string(it.Health)
		}
		out = append(out, table)
	}
	return out, nil
}

// converted decodes a list of API objects.
func converted[T any](list []any) ([]T, error) {
	out := make([]T, len(list))
	for n, entry := range list {
		table, ok := entry.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("entry %d of the list is no table with names", n+1)
		}
		if err := convert(table, &out[n]); err != nil {
			return nil, fmt.Errorf("entry %d of the list: %w", n+1, err)
		}
	}
	return out, nil
}

// convert decodes an API object. Unknown fields are ignored: other versions of the API may have them.
func convert(table map[string]any, into any) error {
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(table, into); err != nil {
		return fmt.Errorf("reading the table that the function returned: %w", err)
	}
	return nil
}

// checkRequests returns an error for an amount that is negative or too large to compute with; already converting the
// latter would take minutes.
func checkRequests(requirements map[string]any) error {
	requests, _ := requirements["resourceRequest"].(map[string]any)
	for name, amount := range requests {
		var text string
		switch v := amount.(type) {
		case string:
			text = v
		case int64, float64: // these are decoded as quantities too
			text = fmt.Sprint(v)
		}
		if err := quantity.CheckAmount(text); err != nil {
			return fmt.Errorf("resourceRequest.%s: %w", name, err)
		}
	}
	return nil
}
