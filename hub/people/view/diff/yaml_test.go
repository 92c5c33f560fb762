package diff

import (
	"runtime"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"sigs.k8s.io/yaml"
)

func TestYAML(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	value := map[string]any{
		"metadata": map[string]any{"name": "web", "labels": map[string]any{"yes": "no", "n": "1"}},
		"list":     []any{int64(1), 2.5, true, nil, []any{}, []any{[]any{"a\nb\n"}}, map[string]any{"a": "x: y"}, 1e9},
		"text":     strings.Repeat("many words that are folded ", 20),
	}
	want, err := yaml.Marshal(value)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(YAML(value, maxYAML)).To(Equal(string(want)))
	g.Expect(YAML("é", 1)).To(HavePrefix("\n# … it is longer than is shown here."), "no half of a character")
	one, err := YAML(strings.Repeat("a", 100)+"b", 100)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(YAML(strings.Repeat("a", 100)+"c", 100)).NotTo(Equal(one), "what differs is seen, though it is not shown")
	_, err = YAML(func() {}, maxYAML)
	g.Expect(err).To(HaveOccurred())
}

// TestLargeObjectsAreShownAsJSON is not parallel: what others allocate would be counted.
func TestLargeObjectsAreShownAsJSON(t *testing.T) {
	const levels = 250
	deep := func(value any) any {
		for range levels {
			value = []any{value}
		}
		return map[string]any{"a": value}
	}
	zeros := make([]any, 300_000)
	for i := range zeros {
		zeros[i] = int64(0)
	}
	for name, value := range map[string]any{
		"values":                     map[string]any{"a": zeros},
		"values in nested lists":     deep(zeros),
		"few values in nested lists": deep(zeros[:50_000]),
		"lines in nested lists":      deep(strings.Repeat("x\n", 500_000)),
		"words in nested lists":      deep(strings.Repeat("x ", 500_000)),
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			text, err := YAML(value, maxYAML)
			runtime.ReadMemStats(&after)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(after.TotalAlloc - before.TotalAlloc).To(BeNumerically("<", 64<<20))
			g.Expect(len(text)).To(BeNumerically("<", maxJSON+1000))
			g.Expect(text).To(HavePrefix(`{"a":[`))
			g.Expect(text).To(ContainSubstring("\n# Shown as JSON"))
		})
	}
}

// TestDifferencesBeyondTheShownPartAreTold holds that nobody is told that two objects are the same that are not.
func TestDifferencesBeyondTheShownPartAreTold(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	object := func(last int64) map[string]any {
		values := make([]any, 2*maxJSON)
		for i := range values {
			values[i] = int64(0)
		}
		values[len(values)-1] = last
		return map[string]any{"a": values}
	}
	g.Expect(Objects("a", "b", object(1), object(2))).To(ContainSubstring("The checksum of all of it is"))
	g.Expect(Objects("a", "b", object(1), object(1))).To(BeEmpty())
}
