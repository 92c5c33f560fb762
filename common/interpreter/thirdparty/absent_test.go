package thirdparty

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"sigs.k8s.io/yaml"

	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/interpreter/lua/vm"
)

// TestRulesSurviveWhatIsAbsent runs every rule on the objects of its cases with one field removed, for each field:
// the object's author may have omitted it, and the status may not have been written yet.
func TestRulesSurviveWhatIsAbsent(t *testing.T) {
	t.Parallel()
	rules, err := New(vm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	forCases(t, func(t *testing.T, kind schema.GroupVersionKind, op interpreter.Operation, raw map[string]any) {
		t.Helper()
		for _, part := range []string{"object", "live", "items"} {
			without(part, raw[part], func(field string) {
				if _, err := answer(rules, kind, op, decoded(t, raw)); err != nil {
					t.Errorf("without %s: %v", field, err)
				}
			})
		}
	})
}

// TestAggregationsSettle aggregates twice: a template whose status changed again would be written for ever.
func TestAggregationsSettle(t *testing.T) {
	t.Parallel()
	rules, err := New(vm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	forCases(t, func(t *testing.T, kind schema.GroupVersionKind, op interpreter.Operation, raw map[string]any) {
		t.Helper()
		if op != interpreter.AggregateStatus {
			return
		}
		g := NewWithT(t)
		ex := decoded(t, raw)
		once, err := rules.AggregateStatus(t.Context(), object(kind, ex.Object), ex.Items)
		g.Expect(err).NotTo(HaveOccurred())
		twice, err := rules.AggregateStatus(t.Context(), once, ex.Items)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(twice).To(BeComparableTo(once))
	})
}

// forCases calls check with every case that expects a result.
func forCases(t *testing.T, check func(*testing.T, schema.GroupVersionKind, interpreter.Operation, map[string]any)) {
	t.Helper()
	paths, err := filepath.Glob("rules/*/*/*/cases/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("there are no cases: %v", err)
	}
	for _, path := range paths {
		kind, op := kindsOf(path)[0], interpreter.Operation(strings.TrimSuffix(filepath.Base(path), ".yaml"))
		t.Run(kind.Kind+" "+kind.Group+" "+string(op), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var examples []map[string]any
			if err := yaml.Unmarshal(text, &examples); err != nil {
				t.Fatal(err)
			}
			for _, ex := range examples {
				if ex["error"] == nil {
					t.Run(fmt.Sprint(ex["case"]), func(t *testing.T) { check(t, kind, op, ex) })
				}
			}
		})
	}
}

// without calls check for every field below v, with that field removed. All objects keep their metadata.
func without(path string, v any, check func(path string)) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			field, value := path+"."+key, v[key]
			if key != "metadata" {
				delete(v, key)
				check(field)
				v[key] = value
			}
			without(field, value, check)
		}
	case []any:
		for i := range v {
			without(fmt.Sprintf("%s[%d]", path, i), v[i], check)
		}
	}
}

func decoded(t *testing.T, raw map[string]any) example {
	t.Helper()
	text, err := json.Marshal(raw)
	if err != nil {
		t.Fatal(err)
	}
	var ex example
	if err := json.Unmarshal(text, &ex); err != nil {
		t.Fatal(err)
	}
	return ex
}
