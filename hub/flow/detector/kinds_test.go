package detector

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestReleaseChecksBackOff(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(untilReleased(-time.Second)).To(Equal(soonReleased), "a clock of the API server that is ahead must not lead to a negative delay")
	g.Expect(untilReleased(0)).To(Equal(soonReleased))
	g.Expect(untilReleased(time.Hour)).To(Equal(10 * time.Second))
}
