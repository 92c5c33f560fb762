package access

import (
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/client-go/rest"
	testingclock "k8s.io/utils/clock/testing"
)

func TestRulesThatCannotBeReadHoldForAWhile(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	clk := testingclock.NewFakeClock(time.Now())
	m := newMember(t, http.NotFound)
	member, err := newMemberAPI(&rest.Config{Host: m.URL, BearerToken: "agent"})
	g.Expect(err).NotTo(HaveOccurred())
	s := &settings{read: member.settings, clock: clk}
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
