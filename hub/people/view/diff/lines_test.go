package diff

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

func TestLines(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ first, second, want string }{
		"the same text differs in nothing":            {"a\nb\n", "a\nb\n", ""},
		"a line in the middle is another":             {"a\nb\nc\n", "a\nx\nc\n", "  a|- b|+ x|  c"},
		"lines are added at the end":                  {"a\n", "a\nb\nc\n", "  a|+ b|+ c"},
		"all is gone":                                 {"a\nb\n", "", "- a|- b"},
		"what is far from any difference is left out": {"1\n2\n3\n4\n5\n6\n", "1\n2\n3\n4\n5\nx\n", "  ⋯|  5|- 6|+ x"},
		"what both have is kept":                      {"a\nb\nc\nd\n", "b\nx\nd\n", "- a|  b|- c|+ x|  d"},
	}
	signs := map[Kind]string{Same: "  ", Add: "+ ", Del: "- ", Gap: "  "}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out []string
			lines, err := Lines(tc.first, tc.second, 1)
			g := NewWithT(t)
			g.Expect(err).NotTo(HaveOccurred())
			for _, line := range lines {
				out = append(out, signs[line.Kind]+line.Text)
			}
			g.Expect(strings.Join(out, "|")).To(Equal(tc.want))
		})
	}
}

func TestLongTextsAreShownWhole(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	lines, err := Lines(strings.Repeat("a\n", 5000), strings.Repeat("b\n", 5000), 3)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(lines).To(HaveLen(10_000))
	g.Expect(lines[0].Kind).To(Equal(Del))
	g.Expect(lines[9999].Kind).To(Equal(Add))
}

// It is not parallel, because the allocations of other tests would count.
func TestAComparisonTakesLittleMemory(t *testing.T) {
	const count = 4000
	text := func(seed uint64) string {
		var lines []string
		for i := range count {
			lines = append(lines, fmt.Sprint("line ", i/20)) // each one occurs often, which is the most work
		}
		rand.New(rand.NewPCG(seed, 0)).Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
		return strings.Join(lines, "\n")
	}
	first, second := text(1), text(2)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	lines, err := Lines(first, second, 3)
	runtime.ReadMemStats(&after)
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(len(lines)).To(BeNumerically(">", count))
	g.Expect(after.TotalAlloc - before.TotalAlloc).To(BeNumerically("<", 16<<20))
}
