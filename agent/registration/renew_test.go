package registration

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	clocktesting "k8s.io/utils/clock/testing"
)

// TestARenewalIsGoneOnWithWhereverItWasKilled kills an agent at every step of a renewal, with or without its disk
// being lost; the member may refuse the first write of a key. The next agent must have, or get, the certificate that
// the hub issued last, with its key.
func TestARenewalIsGoneOnWithWhereverItWasKilled(t *testing.T) {
	t.Parallel()
	for _, awayFor := range []int{0, 1} {
		for _, isLost := range []bool{false, true} {
			t.Run(fmt.Sprintf("the member was away for %d writes, the disk is lost: %t", awayFor, isLost), func(t *testing.T) {
				t.Parallel()
				wasKilled, steps := true, 0
				for ; wasKilled; steps++ {
					h := newRenewer(t)
					dir := h.join()
					h.awayFor = awayFor
					wasKilled = h.renewUntil(dir, steps)
					if isLost {
						dir = t.TempDir()
					}
					NewWithT(t).Expect(h.renewUntil(dir, -1)).To(BeFalse())
					h.server.Close()
				}
				NewWithT(t).Expect(steps).To(BeNumerically(">", 10), "before and after each request")
			})
		}
	}
}

// TestACertificateThatEndsSoonIsRenewedThoughTheMemberDoesNotKeepTheKey checks the lesser evil: a key that does not
// outlast the pod is better than no certificate.
func TestACertificateThatEndsSoonIsRenewedThoughTheMemberDoesNotKeepTheKey(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	h := newRenewer(t)
	dir := h.join()
	now := clocktesting.NewFakeClock(h.last.NotAfter.Add(-10 * 24 * time.Hour))
	c := h.openAt(t.Context(), dir, now)
	before := h.last
	h.awayFor = 1000
	for range 2 {
		g.Expect(c.renew(t.Context())).To(MatchError(ContainSubstring("the member does not answer")))
	}
	g.Expect(h.last).To(Equal(before), "nobody asked the hub")
	now.SetTime(renewalEnd(before.NotBefore, before.NotAfter))
	g.Expect(c.renew(t.Context())).To(Succeed())
	h.awayFor = 0
	g.Expect(c.secretStore.Save(t.Context(), dir)).To(Succeed())
	h.holds(g, c)
}
