package live

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"
)

const waitTimeout = time.Minute

// open serves one page with a clock that stands still, and opens its stream with the tags that the browser has.
func open(t *testing.T, topics *Topics, p Page, have string) (http.Header, *bufio.Scanner) {
	t.Helper()
	return openAt(t, httptest.NewServer, topics, p, have)
}

// openAt does the same with a given way to start the server.
func openAt(t *testing.T, start func(http.Handler) *httptest.Server, topics *Topics, p Page, have string) (http.Header, *bufio.Scanner) {
	t.Helper()
	g := NewWithT(t)
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	t.Cleanup(cancel)
	server := start(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = topics.Serve(w, r, p) // the error at the end of the test does not matter
	}))
	t.Cleanup(server.Close)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"?"+Have+"="+have, nil)
	g.Expect(err).NotTo(HaveOccurred())
	answer, err := server.Client().Do(r)
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = answer.Body.Close() })
	g.Expect(answer.StatusCode).To(Equal(http.StatusOK))
	return answer.Header, bufio.NewScanner(answer.Body)
}

func still(p ...Fragment) Page {
	return Page{
		Alive: func() bool { return true }, Explain: error.Error,
		Make: func(context.Context) (Content, error) { return Content{Fragments: p}, nil },
	}
}

func TestAStreamIsOpenBeforeAnythingHappens(t *testing.T) {
	t.Parallel()
	standing := testclock.NewFakeClock(time.Now()) // it stands still; it only bounds writes
	header, _ := open(t, NewTopics(standing), still(Fragment{ID: "facts", Tag: "1", HTML: "<p>"}), "facts-1")
	NewWithT(t).Expect(header.Get("Content-Type")).To(Equal("text/event-stream"))
}

func TestNewFragmentsAreSentAtOnce(t *testing.T) {
	t.Parallel()
	standing := testclock.NewFakeClock(time.Now()) // it stands still; it only bounds writes
	_, lines := open(t, NewTopics(standing), still(
		Fragment{ID: "facts", Tag: "1", HTML: "<p>"}, Fragment{ID: "form", Tag: "2", Still: true}, Fragment{ID: "new", Tag: "3", HTML: "<b>"},
	), "facts-1")
	g := NewWithT(t)
	g.Expect(lines.Scan()).To(BeTrue())
	g.Expect(lines.Text()).To(Equal("event: fragment"))
	g.Expect(lines.Scan()).To(BeTrue())
	g.Expect(lines.Text()).To(Equal(`data: {"html":"\u003cb\u003e","id":"new","tag":"3"}`))
}

// late is a clock with which the deadline of a write expires after the write and before the next event.
type late struct{ clock.RealClock }

// Now implements clock.PassiveClock.
func (l late) Now() time.Time { return l.RealClock.Now().Add(-writeTimeout + changesEvery*3/4) }

// TestAQuietStreamIsNotCut: the time between two events exceeds the time limit for sending one.
func TestAQuietStreamIsNotCut(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	overTLS := func(h http.Handler) *httptest.Server {
		server := httptest.NewUnstartedServer(h)
		server.EnableHTTP2 = true
		server.StartTLS()
		return server
	}
	made := 0
	page := still()
	page.Make = func(context.Context) (Content, error) {
		made++
		return Content{Fragments: []Fragment{{ID: "facts", Tag: fmt.Sprint(made)}}, Every: changesEvery}, nil
	}
	_, lines := openAt(t, overTLS, NewTopics(late{}), page, "")
	for events := 0; events < 3; {
		g.Expect(lines.Scan()).To(BeTrue(), "the stream ended after %d events: %v", events, lines.Err())
		if lines.Text() == "event: fragment" {
			events++
		}
	}
}
