package connect

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/utils/clock"

	"fairlead.dev/agent/outage"
)

func TestAHubThatIsBackIsAskedAtOnce(t *testing.T) {
	t.Parallel()
	away := func() (*http.Response, error) { return nil, errors.New("dial tcp: connection refused") }
	for name, tc := range map[string]struct {
		answer  func() (*http.Response, error)
		amidst  bool // it comes back while it is asked, and that fails
		atOnce  bool
		further time.Duration // until it is asked in any case
	}{
		"it was away":                  {away, false, true, 0},
		"it is back while it is asked": {away, true, true, 0},
		"it was another":               {refusing(http.StatusNotFound, nil, "404 page not found"), false, true, 0},                                                                        //nolint:bodyclose // it is in memory
		"it said when to ask next":     {refusing(http.StatusServiceUnavailable, http.Header{"Retry-After": {"600"}}, "it is being drained"), true, false, 600*time.Second + 2*mostPause}, //nolint:bodyclose // it is in memory
		"it was away since it said so": {refusing(http.StatusServiceUnavailable, http.Header{"Retry-After": {"600"}}, "it is being drained"), false, true, 0},                             //nolint:bodyclose // it is in memory
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				h, o := newHub(t), outage.New()
				h.answer = tc.answer
				_, stop := h.keep(func(d *Deps) { d.OutageEnds = o.Ended })
				defer stop()
				time.Sleep(time.Hour)
				synctest.Wait()
				h.mu.Lock()
				h.answer = nil
				if tc.amidst {
					h.answer = func() (*http.Response, error) {
						h.answer = nil
						end(o)
						return tc.answer()
					}
				}
				tries := len(h.asked)
				h.mu.Unlock()
				if tc.amidst {
					for h.count() == tries {
						time.Sleep(time.Second)
					}
					tries++
				} else {
					end(o)
				}
				synctest.Wait()
				if tc.atOnce {
					g.Expect(h.count()).To(Equal(tries + 1))
				} else {
					g.Expect(h.count()).To(Equal(tries))
				}
				time.Sleep(tc.further)
				h.newest()
			})
		})
	}
}

// TestAHubThatIsBackAndTakesNoLineYetIsAskedAgainSoon has the hub turn lines away, as it does when thousands of
// agents return at once and it accepts only so many a second.
func TestAHubThatIsBackAndTakesNoLineYetIsAskedAgainSoon(t *testing.T) {
	t.Parallel()
	for name, amidst := range map[string]bool{"it came back while the agent waited": false, "it came back while it was asked": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				h, o := newHub(t), outage.New()
				h.answer = func() (*http.Response, error) { return nil, errors.New("dial tcp: connection refused") }
				_, stop := h.keep(func(d *Deps) { d.OutageEnds = o.Ended })
				defer stop()
				time.Sleep(time.Hour)
				synctest.Wait()
				refused := make(chan struct{})
				h.mu.Lock()
				h.answer = func() (*http.Response, error) {
					defer close(refused)
					h.answer = nil
					if amidst {
						end(o)
					}
					return refusing(http.StatusServiceUnavailable, http.Header{"Retry-After": {"5"}}, "not at the moment")()
				}
				h.mu.Unlock()
				if !amidst {
					end(o)
				}
				<-refused
				time.Sleep(5*time.Second - time.Millisecond)
				synctest.Wait()
				h.mu.Lock()
				g.Expect(h.lines).To(BeEmpty(), "it said when it wants to be asked")
				h.mu.Unlock()
				time.Sleep(time.Millisecond + 2*firstPause)
				h.newest()
			})
		})
	}
}

func refusing(status int, header http.Header, body string) func() (*http.Response, error) {
	if header == nil {
		header = http.Header{}
	}
	return func() (*http.Response, error) {
		return &http.Response{StatusCode: status, Status: http.StatusText(status), Header: header, Body: io.NopCloser(strings.NewReader(body))}, nil
	}
}

func TestAHubSaysWhenToAskAgain(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		answer  func() (*http.Response, error)
		atLeast time.Duration // between two tries, once it is known
		most    int           // tries in six hours
		says    string
	}{
		"it is busy":        {refusing(http.StatusServiceUnavailable, http.Header{"Retry-After": {"20"}}, ""), 20 * time.Second, 1080, "did not open a line (Service Unavailable)"},          //nolint:bodyclose // it is in memory
		"for a year":        {refusing(http.StatusServiceUnavailable, http.Header{"Retry-After": {"99999999999"}}, ""), 10 * time.Minute, 36, "did not open"},                                //nolint:bodyclose // it is in memory
		"it has no lines":   {refusing(http.StatusNotFound, nil, "404 page not found\n"), 5 * time.Minute, 60, "Not Found: 404 page not found"},                                              //nolint:bodyclose // it is in memory
		"it allows none":    {refusing(http.StatusForbidden, nil, `{"kind":"Status","message":"cannot create lines/attach"}`), 5 * time.Minute, 60, "Forbidden: cannot create lines/attach"}, //nolint:bodyclose // it is in memory
		"there are several": {refusing(http.StatusConflict, nil, "another agent"), 5 * time.Minute, 60, "stop it"},                                                                           //nolint:bodyclose // it is in memory
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				h := newHub(t)
				h.answer = tc.answer
				_, stop := h.keep(nil)
				defer stop()
				time.Sleep(6 * time.Hour)
				g.Expect(h.count()).To(BeNumerically("<=", tc.most))
				g.Expect(h.count()).To(BeNumerically(">", 20))
				last := h.asked[len(h.asked)-10:]
				for i, at := range last[1:] {
					g.Expect(at.Sub(last[i])).To(BeNumerically(">=", tc.atLeast))
				}
				g.Expect(h.log).To(ConsistOf(ContainSubstring(tc.says)))
				h.mu.Lock()
				h.answer = nil
				h.mu.Unlock()
				time.Sleep(20 * time.Minute)
				synctest.Wait()
				g.Expect(h.lines).To(HaveLen(1))
			})
		})
	}
}

func TestAHubThatCameBackIsAskedSoon(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p, none := newPace(clock.RealClock{}), &refusal{status: http.StatusNotFound}
	for range 20 {
		p.after(none)
	}
	g.Expect(p.after(none)).To(BeNumerically(">=", mostSeldom/2))
	p.after(nil)
	g.Expect(p.after(none)).To(BeNumerically("<=", 2*firstSeldom))
}
