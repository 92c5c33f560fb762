package live

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	testclock "k8s.io/utils/clock/testing"
)

const waitTimeout = time.Minute

// open serves one page on a clock that stands still, and opens its stream with what the browser has.
func open(t *testing.T, topics *Topics, p Page, have string) (http.Header, *bufio.Scanner) {
	t.Helper()
	g := NewWithT(t)
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	t.Cleanup(cancel)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = topics.Serve(w, r, p) // the end of the test is no news
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
		Reader: "somebody", Alive: func() bool { return true }, Explain: error.Error,
		Make: func(context.Context) (Content, error) { return Content{Fragments: p}, nil },
	}
}

func TestAStreamIsOpenBeforeAnythingHappens(t *testing.T) {
	t.Parallel()
	clock := testclock.NewFakeClock(time.Now()) // it stands still; writes are bounded by it
	header, _ := open(t, NewTopics(clock), still(Fragment{ID: "facts", Tag: "1", HTML: "<p>"}), "facts-1")
	NewWithT(t).Expect(header.Get("Content-Type")).To(Equal("text/event-stream"))
}

func TestWhatTheBrowserDoesNotHaveIsSentAtOnce(t *testing.T) {
	t.Parallel()
	clock := testclock.NewFakeClock(time.Now()) // it stands still; writes are bounded by it
	_, lines := open(t, NewTopics(clock), still(
		Fragment{ID: "facts", Tag: "1", HTML: "<p>"}, Fragment{ID: "form", Tag: "2", Still: true}, Fragment{ID: "new", Tag: "3", HTML: "<b>"},
	), "facts-1")
	g := NewWithT(t)
	g.Expect(lines.Scan()).To(BeTrue())
	g.Expect(lines.Text()).To(Equal("event: fragment"))
	g.Expect(lines.Scan()).To(BeTrue())
	g.Expect(lines.Text()).To(Equal(`data: {"html":"\u003cb\u003e","id":"new","tag":"3"}`))
}
