package access

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	testingclock "k8s.io/utils/clock/testing"
)

// Go's client follows redirects, and client-go's adds the token wherever they lead.
func TestTheAgentsOwnTokenGoesToTheMemberOnly(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	asked := atomic.Bool{}
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Store(true) }))
	t.Cleanup(other.Close)
	first := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	t.Cleanup(first.Close)
	m, err := newMemberAPI(&rest.Config{Host: first.URL, BearerToken: "agent"})
	g.Expect(err).NotTo(HaveOccurred())
	_, err = m.settings(t.Context())
	g.Expect(err).To(MatchError(ContainSubstring("307")))
	g.Expect(asked.Load()).To(BeFalse())
}

// TestHeadersOfAnswersAreBounded checks that a pod's response through pods/proxy cannot exhaust the agent's memory.
func TestHeadersOfAnswersAreBounded(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := newServed(t, newMember(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("A", strings.Repeat("a", 1<<20)) }))
	code, body, _ := s.ask(t, http.MethodGet, "/api/v1/pods", nil)
	g.Expect(code).To(Equal(http.StatusGatewayTimeout), body)
}

func TestATokenIsRenewedInTimeWhateverTheClockOfTheMember(t *testing.T) {
	t.Parallel()
	for name, ahead := range map[string]time.Duration{"the same": 0, "a day ahead": 24 * time.Hour, "a day behind": -24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			clk, given := testingclock.NewFakeClock(time.Now()), 0
			issue := func(context.Context) (*authenticationv1.TokenRequest, error) {
				given++
				now := clk.Now().Add(ahead)
				return &authenticationv1.TokenRequest{
					ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(now)},
					Status:     authenticationv1.TokenRequestStatus{Token: "t", ExpirationTimestamp: metav1.NewTime(now.Add(time.Hour))},
				}, nil
			}
			tokens := &tokens{issue: issue, clock: clk}
			for range 60 { // an hour
				_, err := tokens.get(t.Context())
				g.Expect(err).NotTo(HaveOccurred())
				clk.Step(time.Minute)
			}
			g.Expect(given).To(Equal(2), "one, and another in its last fifth")
		})
	}
}
