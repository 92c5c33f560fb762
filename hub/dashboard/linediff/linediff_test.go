package linediff_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"fairlead.dev/hub/dashboard/linediff"
)

func TestOf(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ first, second, want string }{
		"the same text differs in nothing":            {"a\nb\n", "a\nb\n", ""},
		"a line in the middle is another":             {"a\nb\nc\n", "a\nx\nc\n", "  a|- b|+ x|  c"},
		"lines are added at the end":                  {"a\n", "a\nb\nc\n", "  a|+ b|+ c"},
		"all is gone":                                 {"a\nb\n", "", "- a|- b|+ "},
		"what is far from any difference is left out": {"1\n2\n3\n4\n5\n6\n", "1\n2\n3\n4\n5\nx\n", "  ⋯|  5|- 6|+ x"},
		"what both have is kept":                      {"a\nb\nc\nd\n", "b\nx\nd\n", "- a|  b|- c|+ x|  d"},
	}
	signs := map[linediff.Kind]string{linediff.Same: "  ", linediff.Add: "+ ", linediff.Del: "- ", linediff.Gap: "  "}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out []string
			for _, line := range linediff.Of(tc.first, tc.second, 1) {
				out = append(out, signs[line.Kind]+line.Text)
			}
			NewWithT(t).Expect(strings.Join(out, "|")).To(Equal(tc.want))
		})
	}
}

func TestTextsThatAreTooLongAreShownOneAfterTheOther(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	lines := linediff.Of(strings.Repeat("a\n", 5000), strings.Repeat("b\n", 5000), 3)
	g.Expect(lines).To(HaveLen(10_000))
	g.Expect(lines[0].Kind).To(Equal(linediff.Del))
	g.Expect(lines[9999].Kind).To(Equal(linediff.Add))
}
