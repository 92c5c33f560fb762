package detector

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestAKindThatNeverAnswersIsNotAskedAllTheTime(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(lookAgain(0)).To(Equal(firstLook), "most lists come within milliseconds")
	g.Expect(lookAgain(24 * time.Hour)).To(Equal(lastLook))
	looks := 0
	for waited := time.Duration(0); waited < time.Hour; waited += lookAgain(waited) {
		looks++
	}
	g.Expect(looks).To(BeNumerically("<", 1000))
}

func TestAPolicyThatIsNotReleasedIsNotAskedForAllTheTime(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(untilReleased(-time.Second)).To(Equal(soonReleased), "the clock of the API server may be ahead")
	g.Expect(untilReleased(0)).To(Equal(soonReleased))
	g.Expect(untilReleased(time.Hour)).To(Equal(lastLook))
}
