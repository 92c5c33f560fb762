package prose_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"fairlead.dev/common/prose"
)

func TestCut(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(prose.Cut("short", 5)).To(Equal("short"))
	g.Expect(prose.Cut("too long", 7)).To(Equal("too …"))
	for most := 4; most < 20; most++ {
		euros := prose.Cut(strings.Repeat("€", 10), most)
		g.Expect(euros).To(MatchRegexp(`^€* …$`))
		g.Expect(len(euros)).To(And(BeNumerically("<=", most), BeNumerically(">", most-3)))
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(prose.Names(nil, 2)).To(BeEmpty())
	g.Expect(prose.Names([]string{"a", "b"}, 2)).To(Equal("a, b"))
	g.Expect(prose.Names([]string{"a", "b", "c", "d"}, 2)).To(Equal("a, b and 2 more"))
	g.Expect(prose.FirstNames([]string{"a", "b"}, 2)).To(Equal("a, b"))
	g.Expect(prose.FirstNames([]string{"a", "b"}, 5)).To(Equal("a, b and 3 more"))
}
