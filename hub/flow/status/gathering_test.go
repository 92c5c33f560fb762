package status

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// The status of a binding grows with the number of clusters. If their reports arrive over ten seconds, the bytes written must grow linearly
// with the number of clusters, not quadratically.
func TestReportsOfManyClustersAreGatheredLonger(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(gathering(3)).To(BeNumerically("<", 20*time.Millisecond), "a few are told at once")
	const arrival = 10 * time.Second
	items := func(clusters int) float64 { return float64(arrival/gathering(clusters)) * float64(clusters) }
	g.Expect(items(1000)/items(100)).To(BeNumerically("<", 2), "ten times the clusters are not ten times the bytes")
	g.Expect(gathering(100_000)).To(Equal(batchMost), "and nobody waits for long")
}
