package detector

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestReleaseChecksBackOff(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(untilReleased(-time.Second)).To(Equal(soonReleased), "the clock of the API server may be ahead")
	g.Expect(untilReleased(0)).To(Equal(soonReleased))
	g.Expect(untilReleased(time.Hour)).To(Equal(10 * time.Second))
}
