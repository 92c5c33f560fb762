package watchset

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestAKindThatNeverAnswersIsNotAskedAllTheTime(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(LookAgain(0)).To(Equal(firstLook), "most lists come within milliseconds")
	g.Expect(LookAgain(24 * time.Hour)).To(Equal(lastLook))
	looks := 0
	for waited := time.Duration(0); waited < time.Hour; waited += LookAgain(waited) {
		looks++
	}
	g.Expect(looks).To(BeNumerically("<", 1000))
}
