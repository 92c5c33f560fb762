package contract

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestOlder(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(Older("9", "10")).To(BeTrue())
	g.Expect(Older("10", "9")).To(BeFalse())
	g.Expect(Older("10", "10")).To(BeFalse())
	g.Expect(Older("", "10")).To(BeFalse())
	g.Expect(Older("a", "b")).To(BeFalse())
}
