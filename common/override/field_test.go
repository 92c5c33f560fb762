package override_test

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"

	"sigs.k8s.io/yaml"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
)

// FuzzField holds that no change of a text inside a field makes a panic or changes its
// input, that what comes out is still a text of its kind, and that nothing else differs.
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
