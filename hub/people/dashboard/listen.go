package dashboard

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"fairlead.dev/common/logging"
	"fairlead.dev/hub/people/auth"
)

// TLS is how the dashboard shows who it is, and whom it believes.
type TLS struct {
	// CertFile and KeyFile are read again when they change.
	CertFile, KeyFile string
	// Clients verifies client certificates; nil asks for none.
	Clients *x509.CertPool

	pair *reloaded
}

// reloaded is a key pair as it is in its files.
type reloaded struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	cert  *tls.Certificate
	of    time.Time
	asked time.Time
}

// reloadEvery is how often the files are looked at.
const reloadEvery = 10 * time.Second

// certificate returns the key pair; the last good one while the files are being replaced.
func (t TLS) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	p := t.pair
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := p.clock.Now(); p.cert == nil || now.Sub(p.asked) >= reloadEvery {
		p.asked = now
		info, err := os.Stat(t.CertFile)
		if err == nil && !info.ModTime().Equal(p.of) {
			var cert tls.Certificate
			if cert, err = tls.LoadX509KeyPair(t.CertFile, t.KeyFile); err == nil {
				p.cert, p.of = &cert, info.ModTime()
			}
		}
		if p.cert == nil {
			return nil, fmt.Errorf("reading the dashboard's certificate: %w", err)
		}
	}
	return p.cert, nil
}

// serves says why the dashboard's certificate is not for a host; nil if it is.
func (s *Server) serves(host string) error {
	t := s.tls.Load()
	if t == nil {
		return errors.New("the dashboard has no certificate")
	}
	pair, err := t.certificate(nil)
	if err != nil {
		return err
	}
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		return fmt.Errorf("reading the dashboard's certificate: %w", err)
	}
	return leaf.VerifyHostname(host)
}

// Limits of connections.
const (
	headerTimeout  = 10 * time.Second
	requestTimeout = 30 * time.Second
	idleTimeout    = 2 * time.Minute
	maxHeaders     = 32 << 10
	shutdownGrace  = 3 * time.Second
	// answerTimeout is how long an answer may take, streams aside: members are waited for within it (podsTimeout). A browser
	// that takes nothing of it is not waited for longer.
	answerTimeout = 90 * time.Second
	// pingAfter is how long a connection of HTTP/2 may be silent until it has to show that somebody is there, and silentTimeout
	// how long it may take nothing, not even that.
	pingAfter     = 30 * time.Second
	silentTimeout = 30 * time.Second
	// maxRequestsOfConn is how much may be asked for at once on a connection of HTTP/2: the streams of one person, and some pages.
	maxRequestsOfConn = 50
	// maxConns bounds connections over which nobody has shown a session, and maxConnsOfOne those of them from one address, which
	// may be that of a proxy. Terminals do not count.
	maxConns      = 600
	maxConnsOfOne = 200
	// maxHeldConns bounds connections over which somebody has shown a session, and maxHeldConnsOfOne those of one person. They are
	// ended for no other; what a person has more counts as that of a stranger.
	maxHeldConns      = 800
	maxHeldConnsOfOne = 40
)

// connKey is the key of a request's context under which its connection is.
type connKey struct{}

// exemptConnection keeps the connection of a request from being ended for those of strangers, since a person has shown a session over it.
func (s *Server) exemptConnection(r *http.Request, u *auth.User) {
	if conn, ok := r.Context().Value(connKey{}).(net.Conn); ok {
		s.conns.Exempt(conn, func() (leave func(), ok bool) { return s.held.Acquire(u) })
	}
}

// Serve serves on a listener until the context ends; t is nil for Plain.
func (s *Server) Serve(ctx context.Context, l net.Listener, t *TLS) error {
	if t != nil {
		t.pair = &reloaded{clock: s.clock}
		if _, err := t.certificate(nil); err != nil {
			return err
		}
		s.tls.Store(t)
	}
	streams, end := context.WithCancel(ctx)
	defer end()
	server := &http.Server{
		Handler:           s.handler,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       requestTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaders,
		ConnState:         s.conns.Follow,
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, conn)
		},
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: maxRequestsOfConn, SendPingTimeout: pingAfter, PingTimeout: silentTimeout, WriteByteTimeout: silentTimeout,
		},
		BaseContext: func(net.Listener) context.Context { return streams },
		ErrorLog:    logging.Standard(s.log.V(1)),
	}
	served := make(chan error, 1)
	go func() {
		if t == nil {
			served <- server.Serve(l)
			return
		}
		server.TLSConfig = tlsConfig(*t)
		served <- server.ServeTLS(l, "", "")
	}()
	select {
	case err := <-served:
		return fmt.Errorf("serving the dashboard: %w", err)
	case <-ctx.Done():
	}
	end() // the streams would never come to an end by themselves
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownGrace)
	defer cancel()
	if err := server.Shutdown(grace); err != nil {
		return errors.Join(server.Close())
	}
	return nil
}
