package registration

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/client-go/rest"

	"fairlead.dev/agent/registration/dial"
)

func TestServersAreTriedInTurn(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := newServers("https://a:1", []string{"https://a:1", "https://b:1", "https://c:1"})
	g.Expect(s.list()).To(Equal([]string{"https://a:1", "https://b:1", "https://c:1"}))
	s.switchFrom("https://a:1")
	s.switchFrom("https://a:1") // another request that failed meanwhile
	g.Expect(s.now()).To(Equal("https://b:1"))
	s.switchFrom("https://b:1")
	s.switchFrom("https://c:1")
	g.Expect(s.now()).To(Equal("https://a:1"), "after the last comes the first")
}

func TestServersAreLearned(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := newServers("https://public:1", nil)
	g.Expect(s.learn([]string{"https://a:1", "https://b:1"})).To(BeTrue())
	g.Expect(s.learn([]string{"https://a:1", "https://b:1"})).To(BeFalse())
	g.Expect(s.list()).To(Equal([]string{"https://public:1", "https://a:1", "https://b:1"}), "the name that works stays, though the hub does not know it")
	s.switchFrom("https://public:1")
	g.Expect(s.learn([]string{"https://a:1"})).To(BeTrue())
	g.Expect(s.list()).To(Equal([]string{"https://a:1"}), "what is given up goes")
}

func TestAHubThatCannotServeIsLeft(t *testing.T) {
	t.Parallel()
	began := time.Now()
	for name, tc := range map[string]struct {
		servers  []string
		statuses []int
		over     time.Duration
		want     bool
	}{
		"it fails for long":            {[]string{"https://b:1"}, []int{500, 503, 504, 500, 500}, failurePeriod, true},
		"it fails for a moment":        {[]string{"https://b:1"}, []int{500, 500, 500, 500, 500}, failurePeriod / 2, false},
		"it answers in between":        {[]string{"https://b:1"}, []int{500, 500, 500, 200, 500}, failurePeriod, false},
		"what it refuses is an answer": {[]string{"https://b:1"}, []int{403, 403, 403, 403, 403}, failurePeriod, false},
		"there is no other":            {nil, []int{500, 500, 500, 500, 500}, failurePeriod, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServers("https://a:1", tc.servers)
			var leave bool
			for i, status := range tc.statuses {
				leave = s.answered("https://a:1", status, began.Add(tc.over*time.Duration(i)/time.Duration(len(tc.statuses)-1)))
			}
			NewWithT(t).Expect(leave).To(Equal(tc.want))
		})
	}
}

func TestOnlyWhatDidNotReachAHubIsSentToAnother(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
	g.Expect(isUndelivered(fmt.Errorf("wrapped: %w", refused))).To(BeTrue())
	g.Expect(isUndelivered(&net.OpError{Op: "read", Err: errors.New("connection reset by peer")})).To(BeFalse(), "the hub may have done it")
	g.Expect(isUndelivered(http.ErrHandlerTimeout)).To(BeFalse())
	g.Expect(isUndelivered(fmt.Errorf("wrapped: %w", &dial.NoConnectionError{Host: "a:1", Err: io.EOF}))).To(BeTrue(), "the hub was too busy to greet")
}

func TestAMachineThatTakesConnectionsAndSaysNothingWasNotReached(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var lc net.ListenConfig
	silent, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0") // the kernel accepts
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = silent.Close() }()
	transport, err := newTransport(&rest.Config{Dial: (&net.Dialer{}).DialContext})
	g.Expect(err).NotTo(HaveOccurred())
	transport.TLSHandshakeTimeout = 10 * time.Millisecond
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+silent.Addr().String(), http.NoBody)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = transport.RoundTrip(request) //nolint:bodyclose // There is none.
	g.Expect(isUndelivered(err)).To(BeTrue(), "%v", err)
}

// TestAHubThatAProxyCannotConnectToWasNotReached covers proxies that report a failed connection in a response of
// their own.
func TestAHubThatAProxyCannotConnectToWasNotReached(t *testing.T) {
	t.Parallel()
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if request.Method == http.MethodConnect {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(refuses.Close)
	var lc net.ListenConfig
	socks, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = socks.Close() })
	go func() {
		for {
			conn, err := socks.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 3)) // version 5, one method: none
			_, _ = conn.Write([]byte{5, 0})
			_, _ = conn.Read(make([]byte, 512))                     // the address
			_, _ = conn.Write([]byte{5, 5, 0, 1, 0, 0, 0, 0, 0, 0}) // connection refused
			_ = conn.Close()
		}
	}()
	for name, proxy := range map[string]*url.URL{
		"of HTTP":  {Scheme: "http", Host: strings.TrimPrefix(refuses.URL, "http://")},
		"of SOCKS": {Scheme: "socks5", Host: socks.Addr().String()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			transport, err := newTransport(&rest.Config{Proxy: http.ProxyURL(proxy)})
			g.Expect(err).NotTo(HaveOccurred())
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://192.0.2.1:6443", http.NoBody)
			g.Expect(err).NotTo(HaveOccurred())
			_, err = dial.InTurn(transport).RoundTrip(request) //nolint:bodyclose // There is none.
			g.Expect(isUndelivered(err)).To(BeTrue(), "%v", err)
			g.Expect(err).To(MatchError(ContainSubstring("192.0.2.1:6443")), "it names the hub")
		})
	}
}

func TestAHubThatFallsSilentIsLeft(t *testing.T) {
	t.Parallel()
	const a, b = "https://a:1", "https://b:1"
	began := time.Now()
	at := func(seconds int) time.Time { return began.Add(time.Duration(seconds) * time.Second) }
	for name, tc := range map[string]struct {
		others []string
		ask    func(s *servers) bool
		want   bool
	}{
		"one request for long":        {[]string{b}, func(s *servers) bool { return s.unanswered(a, at(0), at(10)) }, true},
		"one request for a moment":    {[]string{b}, func(s *servers) bool { return s.unanswered(a, at(0), at(5)) }, false},
		"short ones after each other": {[]string{b}, func(s *servers) bool { s.unanswered(a, at(0), at(5)); return s.unanswered(a, at(6), at(11)) }, true},
		"something else was answered": {[]string{b}, func(s *servers) bool { s.answered(a, 200, at(5)); return s.unanswered(a, at(0), at(10)) }, false},
		"nothing since it answered":   {[]string{b}, func(s *servers) bool { s.answered(a, 200, at(5)); return s.unanswered(a, at(0), at(15)) }, true},
		"it was away, answered, is away again": {[]string{b}, func(s *servers) bool {
			s.unanswered(a, at(0), at(9))
			s.answered(a, 200, at(10))
			return s.unanswered(a, at(11), at(16))
		}, false},
		"another one was asked meanwhile": {[]string{b}, func(s *servers) bool { s.switchFrom(a); return s.unanswered(a, at(0), at(10)) }, false},
		"there is no other":               {nil, func(s *servers) bool { return s.unanswered(a, at(0), at(60)) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(tc.ask(newServers(a, tc.others))).To(Equal(tc.want))
		})
	}
}

func TestARequestIsAimedAtAnotherHub(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://a:1/api?x=y", http.NoBody)
	g.Expect(err).NotTo(HaveOccurred())
	same, err := requestTo(request, "https://a:1")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(same).To(BeIdenticalTo(request))
	other, err := requestTo(request, "https://b:2")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(other.URL.String()).To(Equal("https://b:2/api?x=y"))
	g.Expect(request.URL.Host).To(Equal("a:1"), "who made the request keeps it")
}
