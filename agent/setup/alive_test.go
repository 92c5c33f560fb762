package setup

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	clocktesting "k8s.io/utils/clock/testing"
)

func TestProbesTellTheTruth(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	clk := clocktesting.NewFakeClock(time.Unix(1000, 0))
	s := newHubContact(Options{Clock: clk, LeaseDuration: DefaultLeaseDuration})
	g.Expect(s.ready()).To(Succeed(), "it has a moment to find the hub")
	clk.Step(DefaultLeaseDuration + time.Second)
	g.Expect(s.ready()).To(MatchError(ContainSubstring("not answered since the agent started")))
	s.Renewed(nil)
	g.Expect(s.ready()).To(Succeed())

	clk.Step(time.Minute)
	s.Renewed(errors.New("connection refused"))
	g.Expect(s.ready()).To(MatchError(And(ContainSubstring("not answered for 1m0s"), ContainSubstring("connection refused"))))
	g.Expect(s.alive()).To(Succeed(), "it tries")
	clk.Step(10 * time.Minute)
	g.Expect(s.alive()).To(MatchError(ContainSubstring("the agent hangs")))
	back := s.outage.Ended()
	g.Expect(back).NotTo(BeClosed())
	s.Renewed(nil)
	g.Expect(back).To(BeClosed(), "the line need not wait any longer")
	g.Expect(s.alive()).To(Succeed())
	g.Expect(s.ready()).To(Succeed())

	clk.Step(10 * time.Minute)
	s.Heard()
	g.Expect(s.alive()).To(Succeed(), "the lease rests while the line is open")
	g.Expect(s.heard).To(Equal(clk.Now()))
	s.Renewed(errors.New("connection refused"))
	clk.Step(time.Minute)
	s.Heard()
	g.Expect(s.ready()).To(MatchError(ContainSubstring("not answered for 1m0s")), "the line is not all that the agent needs")
}
