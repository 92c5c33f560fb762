package access

import (
	"io"
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/client-go/rest"
	testingclock "k8s.io/utils/clock/testing"

	"fairlead.dev/common/contract"
)

func TestRulesThatCannotBeReadHoldForAWhile(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	clk := testingclock.NewFakeClock(time.Now())
	m := newMember(t, http.NotFound)
	member, err := newMemberAPI(&rest.Config{Host: m.URL, BearerToken: "agent"})
	g.Expect(err).NotTo(HaveOccurred())
	s := &settings{read: member.settings, lastWord: member.lastWord, clock: clk}
	_, err = s.current(t.Context(), 0)
	g.Expect(err).NotTo(HaveOccurred())
	m.Close()
	clk.Step(staleFor)
	now, err := s.current(t.Context(), 0)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(now.IsOff()).To(BeFalse())
	clk.Step(2 * tryAgain)
	_, err = s.current(t.Context(), 0)
	g.Expect(err).To(HaveOccurred())
}

// TestRulesThatAreNotTheLastWordOfTheOwnerLetNobodyIn covers rules that whatever installs the agent (which is not the
// owner) restored after the owner had withdrawn them.
func TestRulesThatAreNotTheLastWordOfTheOwnerLetNobodyIn(t *testing.T) {
	t.Parallel()
	kept := map[string]string{"operators": "group:ops,group:dev", "may": "exec"}
	for name, tc := range map[string]struct {
		word string
		in   bool
	}{
		"nothing was said beside them": {in: true},
		"they are what was said":       {word: contract.LastWordOf(map[string]string{"operators": "group:dev,group:ops", "may": "exec"}), in: true},
		"nobody was to be let in":      {word: contract.LastWordOf(nil)},
		"less was said":                {word: contract.LastWordOf(map[string]string{"operators": "group:ops"})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			m := newMember(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "pods") })
			m.rules, m.word = kept, tc.word
			s := newServed(t, m)
			code, body, _ := s.ask(t, http.MethodGet, "/api/v1/pods", nil)
			if tc.in {
				g.Expect(code).To(Equal(http.StatusOK), body)
				return
			}
			g.Expect(code).To(Equal(http.StatusForbidden))
			g.Expect(body).To(And(ContainSubstring("edge-1: "), ContainSubstring("changed by something other than `agent operators`")))
			g.Expect(s.Summary(t.Context())).To(Equal("off"))
			m.set(map[string]string{})
			s.clock.Step(time.Minute)
			_, body, _ = s.ask(t, http.MethodGet, "/api/v1/pods", nil)
			g.Expect(body).To(ContainSubstring("its owner lets no operators in;"))
		})
	}
}
