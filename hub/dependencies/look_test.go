package dependencies

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
}
