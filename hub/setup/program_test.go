package setup

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestTheProgramIsTheSameEachTime(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	first, err := programHash()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(first).To(MatchRegexp("^[0-9a-f]{20}$"))
	g.Expect(programHash()).To(Equal(first))
}
