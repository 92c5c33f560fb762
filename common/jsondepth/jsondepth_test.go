package jsondepth_test

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	. "github.com/onsi/gomega"

	"fairlead.dev/common/jsondepth"
)

func TestOf(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for text, want := range map[string]int{
		``: 0, `7`: 0, `"[{"`: 0, `[]`: 1, `{"a":1}`: 1, `{"a":[{}]}`: 3, `{"a\"{":"\\"}`: 1, `[[],[[]]]`: 3,
	} {
		g.Expect(jsondepth.Of([]byte(text))).To(Equal(want), text)
	}
}

func TestValues(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for text, want := range map[string]int{
		`7`: 1, `"[{,"`: 1, `[]`: 2, `[1]`: 2, `[1,null,"a,\",b"]`: 4, `{"a":1,"b":2}`: 3, `[{},{},[]]`: 7,
	} {
		g.Expect(jsondepth.Values([]byte(text))).To(Equal(want), text)
	}
}

func TestLimit(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text   string
		levels int
		want   string
	}{
		"what is not too deep stays":        {text: `{"a":[{"b":"[[["}]}`, levels: 3, want: `{"a":[{"b":"[[["}]}`},
		"a list at the limit keeps":         {text: `{"a":[1,2],"b":3}`, levels: 2, want: `{"a":[1,2],"b":3}`},
		"what is deeper loses its content":  {text: `{"a":[[1,2]],"b":3}`, levels: 2, want: `{"a":[[]],"b":3}`},
		"brackets in strings do not count":  {text: `{"a":[{"x":"}]\"}"}],"b":3}`, levels: 2, want: `{"a":[{}],"b":3}`},
		"several documents, as a watch has": {text: `{"a":{"b":{"c":1}}}` + "\n" + `{"a":1}`, levels: 2, want: `{"a":{"b":{}}}` + "\n" + `{"a":1}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			for _, from := range []io.Reader{strings.NewReader(tt.text), iotest.OneByteReader(strings.NewReader(tt.text))} {
				got, err := io.ReadAll(jsondepth.Limit(from, tt.levels))
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(string(got)).To(Equal(tt.want))
			}
		})
	}
}

// TestWhatNoDecoderTakesIsDecoded checks the purpose of the package: JSON that is too deep for a decoder can be
// decoded once cut.
func TestWhatNoDecoderTakesIsDecoded(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	deep := `{"items":[` + strings.Repeat(`{"a":`, 9_999) + `1` + strings.Repeat(`}`, 9_999) + `,{"b":"after"}]}`
	var list struct {
		Items []map[string]any `json:"items"`
	}
	g.Expect(json.Unmarshal([]byte(deep), &list)).NotTo(Succeed())
	cut, err := io.ReadAll(jsondepth.Limit(strings.NewReader(deep), jsondepth.MaxAnswer))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(json.Unmarshal(cut, &list)).To(Succeed())
	g.Expect(list.Items).To(HaveLen(2))
	g.Expect(list.Items[1]).To(HaveKeyWithValue("b", "after"))
	g.Expect(jsondepth.Of(cut)).To(BeNumerically(">", jsondepth.MaxManifest), "it shows that something was cut")
}
