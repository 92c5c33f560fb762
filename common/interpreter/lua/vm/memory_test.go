package vm

import (
	"maps"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/runtime"
)

// TestTablesAreFilledByWhoeverLooks accesses an object's lazily converted fields in every possible way.
func TestTablesAreFilledByWhoeverLooks(t *testing.T) {
	t.Parallel()
	object := func() map[string]any {
		return map[string]any{"a": map[string]any{"b": map[string]any{"c": int64(1), "d": int64(2)}, "n": int64(1<<60 + 1), "e": map[string]any{}, "l": []any{map[string]any{"x": "y"}}}}
	}
	whole := object()
	with := func(change func(b map[string]any)) map[string]any {
		out := object()
		change(out["a"].(map[string]any)["b"].(map[string]any)) //nolint:errcheck,forcetypeassert // They are.
		return out
	}
	for script, want := range map[string]any{
		"return o":                     whole,
		"return {o = o.a.b}":           map[string]any{"o": map[string]any{"c": int64(1), "d": int64(2)}},
		"return {o.a.b, o.a.b}":        []any{map[string]any{"c": int64(1), "d": int64(2)}, map[string]any{"c": int64(1), "d": int64(2)}},
		"o.a.b.c = 3 return o":         with(func(b map[string]any) { b["c"] = int64(3) }),
		"o.a.b.z = 3 return o":         with(func(b map[string]any) { b["z"] = int64(3) }),
		"o.a.b.c = nil return o":       with(func(b map[string]any) { delete(b, "c") }),
		"o.a.b['z' .. 1] = 3 return o": with(func(b map[string]any) { b["z1"] = int64(3) }),
		"local s = '' for k, v in pairs(o.a.b) do s = s .. k .. v end return s": "c1d2",
		"local k, v = next(o.a.b) return {k, v}":                                []any{"c", int64(1)},
		"return {o.a.b == o.a.b, o.a.b == o.a, #o.a.b, #o.a.l}":                 []any{true, false, int64(0), int64(1)},
		"for _, x in ipairs(o.a.l) do return x.x end":                           "y",
		"return unpack(o.a.l)":                                                  map[string]any{"x": "y"},
		"table.insert(o.a.l, o.a.b) return o.a.l":                               []any{map[string]any{"x": "y"}, map[string]any{"c": int64(1), "d": int64(2)}},
		"return {pcall(table.insert, o.a.b, 1)}":                                []any{true},
		"o.x = {a = {e = {}}, b = 1} o.a = nil return o":                        map[string]any{"x": map[string]any{"a": map[string]any{}, "b": int64(1)}},
		"o.a = {e = {}} return o":                                               map[string]any{"a": map[string]any{"e": map[string]any{}}},
		"return {o.a.n}":                                                        []any{int64(1<<60 + 1)},
		"return {m = o.a.n, a = {e = {}}}":                                      map[string]any{"m": int64(1<<60 + 1), "a": map[string]any{"e": map[string]any{}}},
		"return require('kube').getPodDependencies({spec = {volumes = {{name = 'v', secret = o.a.s or {secretName = o.a.l[1].x}}}}}, 'z')[1].name": "y",
		"return {pcall(function() o.a.b[nil] = 1 end)}": []any{false, "line:1: table index is nil"},
	} {
		g := NewWithT(t)
		in := object()
		got, err := run(t, "function f(o) "+script+" end", in)
		g.Expect(err).NotTo(HaveOccurred(), script)
		g.Expect(got).To(BeComparableTo(want), script)
		g.Expect(in).To(Equal(whole), script+": what went in is not changed")
	}
}

// TestWhatComesOutIsNobodyElses modifies everything in a result, which must not change anything else.
func TestWhatComesOutIsNobodyElses(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := map[string]any{"a": map[string]any{"b": []any{map[string]any{"c": int64(1)}}}, "d": "e"}
	before := runtime.DeepCopyJSON(in)
	var spoil func(v any)
	spoil = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for key := range maps.Clone(v) {
				spoil(v[key])
				v[key] = "spoilt"
			}
		case []any:
			for i := range v {
				spoil(v[i])
				v[i] = "spoilt"
			}
		}
	}
	for _, script := range []string{"return o", "return {x = o, y = o.a}", "local x = o.a.b[1].c return o"} {
		out, err := run(t, "function f(o) "+script+" end", in)
		g.Expect(err).NotTo(HaveOccurred())
		spoil(out)
		g.Expect(in).To(Equal(before), script)
	}
}
