package vm

import (
	"encoding/json"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// FuzzThereAndBack passes objects through a script that returns them.
func FuzzThereAndBack(f *testing.F) {
	for _, seed := range []string{
		`{"a": 1}`, `{"a": {}, "b": [], "c": [{}, []], "": {"": {}}}`, `{"n": 9223372036854775807, "m": [-9223372036854775808, 9007199254740993, 9007199254740992]}`,
		`{"f": 0.1, "g": 1e300, "h": -0.0}`, `{"a": [[1, 2], [{"x": {}}]], "1": "one", "x:y.z": []}`, `{"a": true, "b": "\u0000", "c": "é"}`,
	} {
		f.Add(seed)
	}
	s, err := engine(f).Compile(`function f(o) return o end`, "f")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var in map[string]any
		if utiljson.Unmarshal([]byte(text), &in) != nil || in == nil {
			return
		}
		if strings.Contains(text, "null") && strings.Contains(text, "[") {
			return // a list with a hole is an error
		}
		want := withoutNulls(in)
		out, err := called(s, in)
		if err != nil {
			if len(text) < 400 { // exceeding the allowed depth takes more bytes
				t.Fatalf("%s: %v", text, err)
			}
			return
		}
		if out == nil {
			out = map[string]any{}
		}
		NewWithT(t).Expect(asJSON(t, out)).To(Equal(asJSON(t, want)))
	})
}

// withoutNulls returns an object without its nulls: Lua tables cannot have nil fields.
func withoutNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, value := range v {
			if value != nil {
				out[key] = withoutNulls(value)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = withoutNulls(v[i])
		}
		return out
	case float64:
		return v + 0 // -0 is 0
	default:
		return v
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// FuzzTables has scripts return arbitrary tables.
func FuzzTables(f *testing.F) {
	for _, seed := range []string{
		`{1, 2, {a = {}}}`, `{a = {1, nil, 3}}`, `{[1] = 1, [3] = 3}`, `{[0] = 1}`, `{["a"] = 1/0}`, `{[1.5] = 2}`, `{print}`, `{{}, {}}`, `(function() local t = {} t[1] = t return t end)()`,
	} {
		f.Add(seed)
	}
	e := engine(f)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := e.Compile("function f() return "+text+" end", "f")
		if err != nil {
			return
		}
		out, err := called(s)
		if err != nil {
			return
		}
		if _, err := json.Marshal(out); err != nil {
			t.Fatalf("%q made %#v, which is no object: %v", text, out, err)
		}
	})
}
