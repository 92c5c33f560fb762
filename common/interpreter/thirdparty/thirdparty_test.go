package thirdparty

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sigs.k8s.io/yaml"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/interpreter/lua/vm"
)

// example is one case of a rule. Objects need no apiVersion and kind.
type example struct {
	// Case describes the case in a sentence.
	Case string `json:"case"`
	// Object is the template, the desired object (Retain), or the live one (InterpretStatus
	// and InterpretHealth).
	Object map[string]any `json:"object"`
	// Live is the member's object (Retain).
	Live map[string]any `json:"live,omitempty"`
	// Replicas are those to set (ReviseReplica).
	Replicas int32 `json:"replicas,omitempty"`
	// Items are the clusters' reports (AggregateStatus).
	Items []workv1alpha2.AggregatedStatusItem `json:"items,omitempty"`
	// Want is the result; if that is an object, the JSON merge patch from Object.
	Want any `json:"want,omitempty"`
	// Error is a part of the expected error, if there is to be one.
	Error string `json:"error,omitempty"`
}

// TestRules runs the cases of every rule.
func TestRules(t *testing.T) {
	t.Parallel()
	rules, err := New(vm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	paths, err := filepath.Glob("rules/*/*/*/rules.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("there are no rules: %v", err)
	}
	for _, path := range paths {
		for _, kind := range kindsOf(path) {
			t.Run(kind.GroupVersion().String()+" "+kind.Kind, func(t *testing.T) {
				t.Parallel()
				if _, err := rules.of(kind); err != nil {
					t.Fatal(err)
				}
				for _, op := range interpreter.Operations() {
					t.Run(string(op), func(t *testing.T) { examine(t, rules, filepath.Dir(path), kind, op) })
				}
			})
		}
	}
}

// examine runs the cases of one operation, and checks that the rule has cases and the cases have a rule.
func examine(t *testing.T, rules *Interpreter, folder string, kind schema.GroupVersionKind, op interpreter.Operation) {
	t.Helper()
	var examples []example
	text, err := os.ReadFile(filepath.Join(folder, "cases", string(op)+".yaml"))
	if err == nil {
		err = yaml.UnmarshalStrict(text, &examples)
	} else if os.IsNotExist(err) {
		err = nil
	}
	if err != nil {
		t.Fatal(err)
	}
	if has := rules.Has(kind, op); has != (len(examples) > 1) {
		t.Fatalf("has a rule: %t, but %d cases; a rule has two or more", has, len(examples))
	}
	for _, ex := range examples {
		t.Run(ex.Case, func(t *testing.T) {
			g := NewWithT(t)
			got, err := answer(rules, kind, op, ex)
			if ex.Error != "" {
				g.Expect(err).To(MatchError(ContainSubstring(ex.Error)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(plain(t, got)).To(BeComparableTo(plain(t, ex.Want)))
		})
	}
}

// answer runs the rule of a case.
func answer(rules *Interpreter, kind schema.GroupVersionKind, op interpreter.Operation, ex example) (any, error) {
	obj := object(kind, ex.Object)
	got, err := interpreter.Question{
		Operation: op, Object: obj, Live: object(kind, ex.Live), Replicas: ex.Replicas, Items: ex.Items,
	}.Ask(context.Background(), rules)
	if changed, ok := got.(*unstructured.Unstructured); ok && err == nil {
		return change(obj, changed)
	}
	return got, err
}

func object(kind schema.GroupVersionKind, content map[string]any) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	if copied, ok := whole(content).(map[string]any); ok {
		obj.Object = copied
	}
	obj.SetGroupVersionKind(kind)
	return obj
}

// whole converts numbers without a fraction to integers, as in objects of the API.
func whole(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, value := range v {
			out[key] = whole(value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = whole(v[i])
		}
		return out
	case float64:
		if v == float64(int64(v)) {
			return int64(v)
		}
		return v
	default:
		return v
	}
}

// change returns a rule's changes as a merge patch.
func change(from, to *unstructured.Unstructured) (any, error) {
	before, err := json.Marshal(from)
	if err != nil {
		return nil, err
	}
	after, err := json.Marshal(to)
	if err != nil {
		return nil, err
	}
	patch, err := jsonpatch.CreateMergePatch(before, after)
	return json.RawMessage(patch), err
}

// plain converts a value to JSON types; an empty list or null becomes "nothing".
func plain(t *testing.T, v any) any {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	if list, ok := out.([]any); ok && len(list) == 0 || out == nil {
		return "nothing"
	}
	return out
}
