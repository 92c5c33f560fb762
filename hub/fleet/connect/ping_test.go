package connect

import (
	"net/http"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"golang.org/x/time/rate"

	clocktesting "k8s.io/utils/clock/testing"

	"fairlead.dev/common/contract"
)

func TestAnAgentMayBeAskedMoreRarely(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]time.Duration{
		"": 5 * time.Second, "often": 5 * time.Second, "1ms": 5 * time.Second, "-1h": 5 * time.Second, "30s": 30 * time.Second, "1000h": time.Minute,
	} {
		NewWithT(t).Expect(pingOf(said)).To(Equal(want), said)
	}
}

func TestAnswersOfAgentsSteerNoTerminal(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"read in shop":                      "read in shop",
		"read\u009b2J\u202eexec\x7f\n":      `read\u009b2J\u202eexec\x7f`,
		strings.Repeat("é", maxTold):        strings.Repeat("é", maxTold/2),
		"x" + strings.Repeat("é", 99) + "é": "x" + strings.Repeat("é", 99),
	} {
		NewWithT(t).Expect(displayText(said)).To(Equal(want), "%q", said)
	}
}

func TestAnAnswerToAPingMayTakeLongerWhereTheAgentIsAskedRarely(t *testing.T) {
	t.Parallel()
	for ping, want := range map[time.Duration]time.Duration{5 * time.Second: 5 * time.Second, 20 * time.Second: 10 * time.Second, time.Minute: 15 * time.Second} {
		NewWithT(t).Expect(pingTimeoutOf(ping)).To(Equal(want), ping.String())
	}
}

func TestThoseWhoReturnByTheThousandMayAnswerLate(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	clk := clocktesting.NewFakeClock(time.Unix(1000, 0))
	s := &Server{
		Deps: Deps{Clock: clk, Presence: func() string { return contract.LineIsPresence }}, usual: rate.NewLimiter(usualPerSecond, usualAtOnce),
	}
	usual := terms{presence: contract.LineIsPresence, ping: 5 * time.Second, pingTimeout: 5 * time.Second, maxAge: maxAge}
	for range usualAtOnce {
		g.Expect(s.terms(http.Header{})).To(Equal(usual))
	}
	rush := usual
	rush.pingTimeout, rush.maxAge = slowestPing, rushAge
	g.Expect(s.terms(http.Header{})).To(Equal(rush))
	clk.Step(time.Second)
	for range usualPerSecond {
		g.Expect(s.terms(http.Header{})).To(Equal(usual))
	}
	g.Expect(s.terms(http.Header{})).To(Equal(rush))
}
