package override_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"sigs.k8s.io/yaml"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
)

// TestATextThatExpands is the attack of a tenant with a short text that is gigabytes when decoded or encoded. It is
// not parallel, since it measures the allocations of the process.
func TestATextThatExpands(t *testing.T) {
	long := strings.Repeat("x", 300_000)
	laughs := "a0: &a0 [lol, lol]\n"
	for i := range 30 {
		laughs += fmt.Sprintf("a%d: &a%d [*a%d, *a%d]\n", i+1, i+1, i, i)
	}
	tags := ""
	for i := range 101 {
		tags += fmt.Sprintf("%%TAG !a%d! b\n", i)
	}
	tests := map[string]struct {
		text string
		want string // in the error; none if there is none
	}{
		"aliases of a long text":          {"x: y\na: &a \"" + long + "\"\nb: [" + strings.Repeat("*a,", 300) + "]\n", "aliases"},
		"aliases of what is binary":       {"x: y\na: &a !!binary " + long + "\nb: [" + strings.Repeat("*a,", 300) + "]\n", "aliases"},
		"aliases as keys":                 {"x: y\na: &a " + long + "\nb:\n" + strings.Repeat("- {*a : 1}\n", 300), "aliases"},
		"aliases that are merged":         {"x: y\na: &a {k: " + long + "}\nb:\n" + strings.Repeat("- {<<: *a}\n", 300), "aliases"},
		"aliases of aliases":              {"x: y\n" + laughs, "aliases"},
		"an alias in what it stands for":  {"x: y\na: &a [*a]\n", "contains itself"},
		"an alias of nothing":             {"x: y\na: *a\n", "not YAML"},
		"values that are deep":            {"x: y\na: " + strings.Repeat("{a: ", 5000) + strings.Repeat("}", 5000) + "\n", "levels deep"},
		"more tags than anybody declares": {tags + "---\nx: y\n", "%TAG"},
		"what is too large":               {"x: y\n#" + strings.Repeat("x", 2<<20), "bytes"},
		"a few aliases":                   {"x: y\na: &a {k: v}\nb: [*a, *a]\nc: {<<: *a, l: w}\n", ""},
		"a long text once more":           {"x: y\na: &a " + long + "\nb: *a\n", ""},
		"a star that is no alias":         {"x: '*'\ncron: '* * * * *'\n", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			in := deployment()
			in.SetAnnotations(map[string]string{"config": tt.text})
			field := policyv1alpha1.FieldOverrider{FieldPath: "/metadata/annotations/config", YAML: []policyv1alpha1.YAMLPatchOperation{
				{SubPath: "/x", Operator: policyv1alpha1.OverrideReplace, Value: raw(`"z"`)},
			}}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			out, err := with(in, policyv1alpha1.Overriders{FieldOverrider: []policyv1alpha1.FieldOverrider{field}})
			runtime.ReadMemStats(&after)
			g.Expect((after.TotalAlloc-before.TotalAlloc)>>20).To(BeNumerically("<", 64), "MiB")
			if tt.want != "" {
				g.Expect(err).To(MatchError(And(ContainSubstring(tt.want), ContainSubstring("/metadata/annotations/config"))))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(out.GetAnnotations()["config"]).To(ContainSubstring("x: z\n"))
		})
	}
}

// FuzzField checks that no change of a text inside a field panics or modifies its input, that the result is still a
// text of its kind, and that nothing else differs.
func FuzzField(f *testing.F) {
	f.Add(`{"a":{"b":[1,2]}}`, "/a/b/-", "add", "3", true)
	f.Add(`{"a":1}`, "/a", "replace", `{"b":null}`, true)
	f.Add("a: 1 # why\nb: [x, y]\n", "/b/0", "remove", "", false)
	f.Add("a: &x {b: 1}\nc: *x\n", "/c/b", "replace", "2", false)
	f.Add("- 1\n- 2\n", "/-1", "remove", "", false)
	f.Add("plain", "", "replace", `"other"`, false)
	f.Fuzz(func(t *testing.T, text, path, operator, value string, asJSON bool) {
		g := NewWithT(t)
		field := policyv1alpha1.FieldOverrider{FieldPath: "/metadata/annotations/config"}
		content := raw(value)
		if asJSON {
			field.JSON = []policyv1alpha1.JSONPatchOperation{{SubPath: path, Operator: policyv1alpha1.OverriderOperator(operator), Value: content}}
		} else {
			field.YAML = []policyv1alpha1.YAMLPatchOperation{{SubPath: path, Operator: policyv1alpha1.OverriderOperator(operator), Value: content}}
		}
		in := deployment()
		in.SetAnnotations(map[string]string{"config": text, "other": "stays"})
		before := in.DeepCopy()
		out, err := with(in, policyv1alpha1.Overriders{FieldOverrider: []policyv1alpha1.FieldOverrider{field}})
		g.Expect(in).To(Equal(before))
		if err != nil {
			g.Expect(err.Error()).To(ContainSubstring("fieldOverrider[0]"))
			return
		}
		changed := out.GetAnnotations()["config"]
		if asJSON {
			g.Expect(json.Valid([]byte(changed))).To(BeTrue(), changed)
		} else {
			g.Expect(yaml.Unmarshal([]byte(changed), new(any))).To(Succeed(), changed)
		}
		out.SetAnnotations(before.GetAnnotations())
		g.Expect(out).To(Equal(before))
	})
}
