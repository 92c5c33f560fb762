package auth

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
)

func TestNobodyTakesThePlacesOfAll(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	const most, ofOne = 40, 8
	p := NewOpenLimit(most, ofOne)
	anna := &User{Name: "anna"}
	var leave func()
	for range ofOne {
		var ok bool
		leave, ok = p.Acquire(anna)
		g.Expect(ok).To(BeTrue())
	}
	_, ok := p.Acquire(&User{Name: "anna"})
	g.Expect(ok).To(BeFalse(), "in another session she has no more")
	leave()
	_, ok = p.Acquire(anna)
	g.Expect(ok).To(BeTrue())

	taken := 0
	for i := range 10 * most {
		if _, ok := p.Acquire(&User{Name: fmt.Sprintf("system:serviceaccount:shop:made-up-%d", i)}); ok {
			taken++
		}
	}
	g.Expect(taken).To(Equal(most/partOfNamespace), "the service accounts of a namespace are one tenant")
	_, ok = p.Acquire(&User{Name: "system:serviceaccount:bank:one"})
	g.Expect(ok).To(BeTrue())
	for i := range 10 * most {
		_, _ = p.Acquire(&User{Name: fmt.Sprint(i)})
	}
	g.Expect(p.all).To(Equal(most))
}
