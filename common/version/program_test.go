package version

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestTheProgramIsTheSameEachTime(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	first, err := Program()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(first).To(MatchRegexp("^[0-9a-f]{20}$"))
	g.Expect(Program()).To(Equal(first))
}
