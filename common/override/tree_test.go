package override

import (
	"encoding/json"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	. "github.com/onsi/gomega"

	kjson "k8s.io/apimachinery/pkg/util/json"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
)

// FuzzPatchTree checks that an operation in place has the same result as the RFC 6902 library has on the encoded
// document, or fails where that fails.
func FuzzPatchTree(f *testing.F) {
	for _, seed := range [][4]string{
		{`{"a":{"b":[1,2,{"c":null}]}}`, "add", "/a/b/1", `"x"`},
		{`{"a":{"b":[1,2,{"c":null}]}}`, "replace", "/a/b/2/c", `{"d":1}`},
		{`{"a":{"b":[1,2,{"c":null}]}}`, "remove", "/a/b/0", ``},
		{`{"a":[1,2]}`, "add", "/a/-", `3`},
		{`{"a":[1,2]}`, "remove", "/a/-1", ``},
		{`{"a":[1,2]}`, "add", "/a/-1", `3`},
		{`{"a":[1,2]}`, "replace", "/a/2", `3`},
		{`{"a/b":{"c~d":1}}`, "replace", "/a~1b/c~0d", `9007199254740993`},
		{`{"a":1}`, "add", "/a/b", `1`},
		{`{"a":1}`, "add", "/b/c", `1`},
		{`{"a":1}`, "replace", "/b", `1`},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	f.Fuzz(func(t *testing.T, document, op, path, value string) {
		g := NewWithT(t)
		var tree map[string]any
		if kjson.Unmarshal([]byte(document), &tree) != nil || tree == nil || !strings.HasPrefix(path, "/") ||
			strings.Contains(path, "//") || strings.HasSuffix(path, "/") { // the library takes other paths, and knows no empty keys
			t.Skip()
		}
		operator := policyv1alpha1.OverriderOperator(op)
		if operator != policyv1alpha1.OverrideAdd && operator != policyv1alpha1.OverrideReplace && operator != policyv1alpha1.OverrideRemove {
			_, err := patchTree(tree, operator, path, nil, &budget{left: maxSteps})
			g.Expect(err).To(MatchError(errOperator))
			return
		}
		if value == "" {
			value = "null"
		}
		if !json.Valid([]byte(value)) {
			t.Skip()
		}
		encoded, err := json.Marshal(tree)
		g.Expect(err).NotTo(HaveOccurred())
		var set any
		g.Expect(kjson.Unmarshal([]byte(value), &set)).To(Succeed())
		got, gotErr := patchTree(tree, operator, path, set, &budget{left: maxSteps})
		patch, err := json.Marshal([]operation{{Op: op, Path: path, Value: json.RawMessage(value)}})
		g.Expect(err).NotTo(HaveOccurred())
		decoded, err := jsonpatch.DecodePatch(patch)
		g.Expect(err).NotTo(HaveOccurred())
		want, wantErr := decoded.Apply(encoded)
		if wantErr != nil || gotErr != nil {
			g.Expect(gotErr != nil).To(Equal(wantErr != nil), "here: %v; there: %v", gotErr, wantErr)
			return
		}
		result, err := json.Marshal(got)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(result).To(MatchJSON(want))
	})
}
