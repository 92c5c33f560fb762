package render

import (
	"encoding/json"
	"math"
	"testing"

	. "github.com/onsi/gomega"

	kjson "sigs.k8s.io/json"
)

// FuzzEncode checks that a manifest has the same bytes as the result of json.Marshal, because the hash of a Work is that of these bytes.
func FuzzEncode(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"b": 1, "a": [], "": {}}`, `{"a": [null, true, false, -1, 1.5, 1e300, 9007199254740993]}`,
		`{"plain": "text ~", "<a href='x'>&": "\"\\\n\u0000\u2028é€😀\u007f"}`, `{"a": {"b": {"c": [[], [{}], [[1]]]}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var content map[string]any
		if kjson.UnmarshalCaseSensitivePreserveInts(raw, &content) != nil {
			return
		}
		want, err := json.Marshal(content)
		if err != nil {
			return
		}
		got, err := encode(content)
		if err != nil || string(got) != string(want) {
			t.Fatalf("it is %s and not %s: %v", got, want, err)
		}
	})
}

func TestEncodeUnusualValues(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for _, content := range []map[string]any{
		nil,
		{"list": []any(nil), "map": map[string]any(nil), "int": 1, "strings": []string{"a"}, "broken": "\xff", "key\xff": 1.0},
	} {
		want, err := json.Marshal(content)
		g.Expect(err).NotTo(HaveOccurred())
		got, err := encode(content)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(got)).To(Equal(string(want)))
	}
	_, err := encode(map[string]any{"a": []any{math.NaN()}})
	g.Expect(err).To(MatchError(ContainSubstring("float64")))
}
