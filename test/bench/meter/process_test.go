package meter_test

import (
	"os"
	"testing"

	. "github.com/onsi/gomega"

	"fairlead.dev/test/bench/meter"
)

func TestAProcessIsReadAsTheKernelShowsIt(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	before, err := meter.ReadProcess("self", os.Getpid())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(before.ResidentBytes).To(BeNumerically(">", 1<<20))
	g.Expect(before.PeakBytes).To(BeNumerically(">=", before.ResidentBytes/2))

	_, err = os.ReadFile("/proc/self/maps")
	g.Expect(err).NotTo(HaveOccurred())
	after, err := meter.ReadProcess("self", os.Getpid())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(after.Since(before).ReadBytes).To(BeNumerically(">", 100))
	g.Expect(after.Since(before).PeakBytes).To(Equal(after.PeakBytes))

	_, err = meter.ReadProcess("nobody", 0)
	g.Expect(err).To(MatchError(ContainSubstring(`"nobody"`)))
}
