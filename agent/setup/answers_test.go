package setup

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
)

// slowly is a line whose answers take as long as is said.
type slowly struct {
	clock *clocktesting.FakeClock
	takes time.Duration
	asked []http.Header
}

// RoundTrip implements http.RoundTripper.
func (s *slowly) RoundTrip(request *http.Request) (*http.Response, error) {
	s.clock.Step(s.takes)
	s.asked = append(s.asked, request.Header)
	recorder := httptest.NewRecorder()
	recorder.WriteHeader(http.StatusOK)
	return recorder.Result(), nil
}

func TestCompressionIsWantedWhileTheLineIsSlow(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	line := &slowly{clock: clocktesting.NewFakeClock(time.Now())}
	times := &answerTimes{}
	client, err := rest.HTTPClientFor(CompressSlow.compressing(timed(&rest.Config{Host: "https://hub", Transport: line}, times, line.clock), times))
	g.Expect(err).NotTo(HaveOccurred())
	asks := func(takes time.Duration) string {
		line.takes = takes
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://hub/", http.NoBody)
		g.Expect(err).NotTo(HaveOccurred())
		response, err := client.Do(request)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(response.Body.Close()).To(Succeed())
		return line.asked[len(line.asked)-1].Get("Accept-Encoding")
	}
	o := LineOptions{isSlow: times.isSlow}
	g.Expect(asks(slowAnswer)).To(BeEmpty(), "of a line of which nothing is known")
	g.Expect(asks(slowAnswer)).To(Equal(likesGzip))
	g.Expect(o.ping()).To(Equal(slowPing))
	o.Ping = time.Second
	g.Expect(o.ping()).To(Equal(time.Second), "who says how often is heard")

	g.Expect(asks(slowAnswer / 2)).To(Equal(likesGzip))
	for range lastAnswers {
		g.Expect(asks(slowAnswer)).To(BeEmpty(), "one answer that is late says nothing of the line")
	}
	g.Expect(asks(slowAnswer)).To(Equal(likesGzip))
}

func TestWhenAnswersAreCompressedIsSaid(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for _, value := range []Compression{CompressSlow, CompressAlways, CompressNever} {
		var c Compression
		g.Expect(c.Set(value.String())).To(Succeed())
		g.Expect(c).To(Equal(value))
	}
	var c Compression
	g.Expect(c.Set("gzip")).NotTo(Succeed())
}
