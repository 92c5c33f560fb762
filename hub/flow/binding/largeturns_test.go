package binding

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestLargeBindingsHoldAPartOfTheWorkers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ workers, ofOne, ofAll int }{
		"the workers of a hub":       {defaultWorkers, 6, 9},
		"fewer":                      {4, 2, 3},
		"so few that one is for all": {2, 1, 1},
		"one":                        {1, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			turns := newLargeTurns(c.workers)
			takes := func(namespace string) int {
				n := 0
				for n <= c.workers && turns.begin(namespace) {
					n++
				}
				return n
			}
			g.Expect(takes("shop")).To(Equal(c.ofOne))
			g.Expect(takes("office") + takes("home")).To(Equal(c.ofAll - c.ofOne))
			turns.end("shop")
			g.Expect(takes("shop")).To(Equal(1))
		})
	}
}
