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

// TLS is the serving certificate, and the authority for client certificates.
type TLS struct {
	// CertFile and KeyFile are reloaded when they change.
	CertFile, KeyFile string
	// Clients verifies client certificates; nil requests none.
	Clients *x509.CertPool

	pair *reloaded
}

// reloaded is a key pair that is reloaded from its files.
type reloaded struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	cert  *tls.Certificate
	of    time.Time
	asked time.Time
}

// reloadEvery is how often the files are checked.
const reloadEvery = 10 * time.Second

// certificate returns the key pair; the last valid one while the files are being replaced.
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

// serves returns an error if the dashboard's certificate is not for a host.
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

// Limits of connections and requests.
const (
	headerTimeout  = 10 * time.Second
	requestTimeout = 30 * time.Second
	idleTimeout    = 2 * time.Minute
	maxHeaders     = 32 << 10
	shutdownGrace  = 3 * time.Second
	// answerTimeout bounds the time of a response, except for streams. Waiting for members is part of it (podsTimeout),
	// and so is a browser that does not read.
	answerTimeout = 90 * time.Second
	// pingAfter is how long an HTTP/2 connection may be idle before it is pinged, and silentTimeout how long it may
	// fail to read anything, including the ping.
	pingAfter     = 30 * time.Second
	silentTimeout = 30 * time.Second
	// maxRequestsOfConn is how many requests may be open on an HTTP/2 connection: the streams of one person, and some
	// pages.
	maxRequestsOfConn = 50
	// maxConns bounds the connections on which nobody has presented a session, and maxConnsOfOne those from one
	// address, which may be that of a proxy. Terminals do not count.
	maxConns      = 600
	maxConnsOfOne = 200
	// maxHeldConns bounds the connections on which somebody has presented a session, and maxHeldConnsOfOne those of one
	// person. They are never closed in favour of others; connections beyond these limits count as anonymous.
	maxHeldConns      = 800
	maxHeldConnsOfOne = 40
)

// connKey is the context key of a request's connection.
type connKey struct{}

// exemptConnection protects the connection of a request from being closed in favour of others, since a session was
// presented on it.
func (s *Server) exemptConnection(r *http.Request, u *auth.User) {
	if conn, ok := r.Context().Value(connKey{}).(net.Conn); ok {
		s.conns.Exempt(conn, func() (leave func(), ok bool) { return s.held.Acquire(u) })
	}
}

// Serve serves on a listener until the context ends; without t, without TLS.
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
	end() // streams do not end by themselves
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownGrace)
	defer cancel()
	if err := server.Shutdown(grace); err != nil {
		return errors.Join(server.Close())
	}
	return nil
}
