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
	// fallbackJitter bounds how long an agent waits before it calls another hub: all agents of one that fails do.
	fallbackJitter = 3 * time.Second
	// severalDialTimeout is how long a hub may take to accept a connection where there are others.
	severalDialTimeout = 5 * time.Second
	// A hub that answers so many requests in a row, and for so long, that it cannot serve them is left for another; one that answers
	// nothing at all for so long, too.
	mostFailures   = 5
	failurePeriod  = 10 * time.Second
	serversDivider = ","
)

// servers are the URLs of the hubs of one API. An agent talks to one of them at a time, for as long as that works. They may be used
// from many goroutines.
type servers struct {
	mu      sync.Mutex
	all     []string
	current string
	// failures are the answers in a row that the hub cannot serve, since when.
	failures int
	since    time.Time
	// heard is when it last answered anything, and silent since when requests have run out of time that it did not answer; zero if
	// there are none after heard.
	heard, silent time.Time
}

// newServers begins with the first of them.
func newServers(first string, others []string) *servers {
	s := &servers{all: []string{first}, current: first}
	for _, server := range others {
		if !slices.Contains(s.all, server) {
			s.all = append(s.all, server)
		}
	}
	return s
}

// now is the one to talk to.
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

// list returns all, the one to talk to first.
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

// learn takes over what the hub tells, and says whether that is news. The one that works stays, also if the hub does not name it: an agent
// may know it by another name than the hub does.
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

// switchFrom goes on to the one after, unless somebody else did already.
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

// unanswered notes a request that ran out of time, and says whether the hub had better be left: nothing came from it for long, though
// nobody closed the connection. So it is with a machine that hangs or lost its network.
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

// answered notes an answer, and says whether the hub had better be left.
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

// requestTo returns a request at another server.
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

// isUndelivered says whether a request certainly did not reach a hub: there was no connection, or one to somebody else, or one to a
// machine that takes connections and says nothing.
func isUndelivered(err error) bool {
	if operation, ok := errors.AsType[*net.OpError](err); ok && !dial.Unconnected(err) {
		return operation.Op == "dial"
	}
	_, isCertificate := errors.AsType[*tls.CertificateVerificationError](err)
	return isCertificate || dial.Unconnected(err) || strings.Contains(err.Error(), handshakeTimeout)
}

// What package net/http says without a type: nobody answered the greeting, and nobody answered a ping.
const (
	handshakeTimeout = "TLS handshake timeout"
	connectionLost   = "http2: client connection lost"
)

// RoundTrip makes a request with the credentials of the moment, at the hub of the moment. If that cannot be connected to, the next is
// tried, after a moment that differs between agents. If it falls silent, the next request is made at the next.
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
				notify(c.refused) // it is not any more
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
			c.servers.switchFrom(server) // it may have got the request
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

// sleep returns false if the context ends before.
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

// bounded has connections made in time where there are other hubs to call.
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

// splitServers reads a list of servers as it is kept.
func splitServers(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, serversDivider)
}
