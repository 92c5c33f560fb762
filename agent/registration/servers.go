package registration

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"

	"fairlead.dev/agent/registration/dial"
)

const (
	// fallbackJitter bounds the delay before an agent calls another hub, since all agents of a failed hub do so at
	// once.
	fallbackJitter = 3 * time.Second
	// severalDialTimeout bounds connecting to a hub if there are others.
	severalDialTimeout = 5 * time.Second
	// An agent leaves a hub whose last mostFailures answers, over failurePeriod, were that it cannot serve, or that
	// answers nothing for failurePeriod.
	mostFailures   = 5
	failurePeriod  = 10 * time.Second
	serversDivider = ","
)

// servers holds the URLs of the hubs of one API. An agent stays with one of them as long as that works. It is safe
// for concurrent use.
type servers struct {
	mu      sync.Mutex
	all     []string
	current string
	// failures counts the consecutive answers by which the hub could not serve a request, the first of them at since.
	failures int
	since    time.Time
	// heard is when the hub last answered, and silent when a request first timed out after that; zero if none did.
	heard, silent time.Time
}

// newServers starts with the first of the hubs.
func newServers(first string, others []string) *servers {
	s := &servers{all: []string{first}, current: first}
	for _, server := range others {
		if !slices.Contains(s.all, server) {
			s.all = append(s.all, server)
		}
	}
	return s
}

// now returns the present hub.
func (s *servers) now() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}

func (s *servers) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all)
}

// list returns all hubs, the present one first.
func (s *servers) list() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := []string{s.current}
	for _, server := range s.all {
		if server != s.current {
			out = append(out, server)
		}
	}
	return out
}

// learn replaces the list by the one that the hub announces, and returns whether it changed. The present hub stays
// even if it is not on that list: the agent may reach it under another name.
func (s *servers) learn(told []string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.Clone(told)
	if !slices.Contains(all, s.current) {
		all = append(all, s.current)
	}
	if slices.Equal(all, s.all) {
		return false
	}
	s.all = all
	return true
}

// switchFrom switches from a hub to the next one, unless another goroutine already did.
func (s *servers) switchFrom(server string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != server || len(s.all) == 1 {
		return
	}
	at := slices.Index(s.all, server)
	s.current = s.all[(at+1)%len(s.all)]
	s.failures, s.heard, s.silent = 0, time.Time{}, time.Time{}
}

// unanswered records a request that timed out, and returns whether to leave the hub: it has been silent for long
// although no connection was closed, like a machine that hangs or has lost its network.
func (s *servers) unanswered(server string, began, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != server || len(s.all) == 1 {
		return false
	}
	if since := later(began, s.heard); s.silent.IsZero() || since.Before(s.silent) {
		s.silent = since
	}
	return now.Sub(s.silent) >= failurePeriod
}

// answered records an answer, and returns whether to leave the hub.
func (s *servers) answered(server string, status int, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != server || len(s.all) == 1 {
		return false
	}
	s.heard, s.silent = now, time.Time{}
	switch status {
	case http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
	default:
		s.failures = 0
		return false
	}
	if s.failures == 0 {
		s.since = now
	}
	s.failures++
	return s.failures >= mostFailures && now.Sub(s.since) >= failurePeriod
}

// requestTo returns the request with another server as its target.
func requestTo(request *http.Request, server string) (*http.Request, error) {
	u, err := url.Parse(server)
	if err != nil {
		return nil, fmt.Errorf("reading the address %q of a hub: %w", server, err)
	}
	if request.URL.Host == u.Host {
		return request, nil
	}
	out := request.Clone(request.Context())
	out.URL.Scheme, out.URL.Host, out.Host = u.Scheme, u.Host, ""
	if request.GetBody != nil {
		if out.Body, err = request.GetBody(); err != nil {
			return nil, fmt.Errorf("sending a request again: %w", err)
		}
	}
	return out, nil
}

// isUndelivered returns whether a request certainly did not reach the hub: there was no connection, or one to another
// server, or one to a machine that accepts connections and then sends nothing.
func isUndelivered(err error) bool {
	if operation, ok := errors.AsType[*net.OpError](err); ok && !dial.Unconnected(err) {
		return operation.Op == "dial"
	}
	_, isCertificate := errors.AsType[*tls.CertificateVerificationError](err)
	return isCertificate || dial.Unconnected(err) || strings.Contains(err.Error(), handshakeTimeout)
}

// Texts of net/http errors that have no type: the TLS handshake timed out, or a ping was not answered.
const (
	handshakeTimeout = "TLS handshake timeout"
	connectionLost   = "http2: client connection lost"
)

// RoundTrip sends a request to the present hub with the present credentials. If it cannot connect, it tries the next
// hub after a random delay. If the hub falls silent, the next request goes to the next hub.
func (c *Credentials) RoundTrip(request *http.Request) (*http.Response, error) {
	for left := c.servers.count() - 1; ; left-- {
		server, began := c.servers.now(), c.clock.Now()
		to, err := requestTo(request, server)
		if err != nil {
			return nil, err
		}
		transport := c.now().transport
		response, err := transport.RoundTrip(to)
		if err == nil {
			if response.StatusCode == http.StatusUnauthorized || response.StatusCode == http.StatusForbidden {
				notify(c.refused)
			}
			if c.refusals.observe(to, response, c.clock.Now()) {
				notify(c.refused) // to report that the refusal has ended
			}
			if c.servers.answered(server, response.StatusCode, c.clock.Now()) {
				c.servers.switchFrom(server)
				utilnet.CloseIdleConnectionsFor(transport)
			}
			return response, nil
		}
		ctx := request.Context()
		if errors.Is(ctx.Err(), context.DeadlineExceeded) && c.servers.unanswered(server, began, c.clock.Now()) {
			c.servers.switchFrom(server)
			notify(c.interrupted)
		}
		if ctx.Err() != nil {
			return nil, err
		}
		notify(c.interrupted)
		if strings.Contains(err.Error(), connectionLost) {
			c.servers.switchFrom(server) // the hub may have received the request, so it is not repeated
			return nil, err
		}
		if left <= 0 || !isUndelivered(err) || request.Body != nil && request.GetBody == nil {
			return nil, err
		}
		c.servers.switchFrom(server)
		utilnet.CloseIdleConnectionsFor(transport)
		if !c.sleep(ctx, time.Duration(c.random()*float64(fallbackJitter))) {
			return nil, err
		}
	}
}

// sleep returns false if the context ends before the delay.
func (c *Credentials) sleep(ctx context.Context, d time.Duration) bool {
	timer := c.clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C():
		return true
	}
}

// bounded bounds the time for connecting if there are other hubs.
func (s *servers) bounded(connect dialFunc) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if s.count() > 1 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, severalDialTimeout)
			defer cancel()
		}
		return connect(ctx, network, address)
	}
}

// splitServers splits a saved list of servers.
func splitServers(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, serversDivider)
}
