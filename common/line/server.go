package line

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"fairlead.dev/common/logging"
)

const (
	// DefaultServerPing is the silence after which the agent pings the hub: longer than the hub's own interval.
	DefaultServerPing = 15 * time.Second
	// DefaultGrace is how long requests may continue after the goodbye. It must suffice for a busy machine to send
	// the goodbye.
	DefaultGrace = 2 * time.Second
	// MaxStreams bounds the concurrent requests of a line.
	MaxStreams = 100
	// MaxUploads bounds how many of these may have a body, each of which may buffer serverWindow bytes: together less
	// than the connection's window, so that the others proceed if all of these stall.
	MaxUploads = 30

	serverWindow     = 128 << 10
	connectionWindow = 4<<20 - 1 // net/http's maximum
	// openTimeout bounds the wait for the hub's first bytes.
	openTimeout = 10 * time.Second
	// answerMost bounds the answer to a ping.
	answerMost = 10 * time.Second
	// lostPing is net/http's name for a connection on which a ping was not answered.
	lostPing = "conn_close_lost_ping"
)

// ServerOptions configure the agent's end. Zero values mean the defaults.
type ServerOptions struct {
	// Ping is the silence after which the hub is pinged; the answer may take as long, at most 10 s.
	Ping time.Duration
	// Grace is how long requests may continue after the goodbye when the context has ended.
	Grace time.Duration
	// Drain, once closed, makes the agent say goodbye; requests continue until they or the context end.
	Drain <-chan struct{}
	// Log receives the few messages of net/http's server.
	Log logr.Logger
}

// Serve answers the requests on a connection to the hub, which has carried nothing since it became a line, until the
// line ends. It owns the connection. When the context ends, it says goodbye to the hub, gives requests a moment, and
// returns nil; otherwise it returns the reason for the end. When it returns, no handler is running. Handlers see
// upgrade requests like in an HTTP/1.1 server, and may hijack them.
func Serve(ctx context.Context, conn net.Conn, h http.Handler, o ServerOptions) error {
	s := &server{handler: h, uploads: make(chan struct{}, MaxUploads), idle: make(chan struct{})}
	l := &listener{conn: make(chan net.Conn, 1), closed: make(chan struct{})}
	under := &served{Conn: conn}
	l.conn <- under

	requests, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	begun, gone := make(chan struct{}), make(chan struct{})
	closeBegun, closeGone := sync.OnceFunc(func() { close(begun) }), sync.OnceFunc(func() { close(gone) })
	srv := newHTTPServer(s, under, o)
	srv.BaseContext = func(net.Listener) context.Context { return requests }
	srv.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateActive, http.StateIdle:
			closeBegun()
		case http.StateClosed:
			closeGone()
		case http.StateNew, http.StateHijacked:
		}
	}
	accepting := make(chan struct{})
	go func() {
		defer close(accepting)
		_ = srv.Serve(l) // it returns only that the listener was closed
	}()
	planned := s.until(ctx, srv, begun, gone, o)
	_ = srv.Close() // the connection has ended; this ends the listener
	<-accepting
	select {
	case <-l.conn: // the context ended before it was accepted
		_ = conn.Close() // nothing was sent on it
	default:
		<-gone
	}
	cancel()
	s.wait()
	if planned {
		return nil
	}
	return under.reason()
}

// newHTTPServer returns the server of the requests on a connection, with the limits of a line.
func newHTTPServer(h http.Handler, conn *served, o ServerOptions) *http.Server {
	protocols := &http.Protocols{}
	protocols.SetUnencryptedHTTP2(true)
	ping := or(o.Ping, DefaultServerPing)
	return &http.Server{
		Handler:           h,
		Protocols:         protocols,
		ReadHeaderTimeout: openTimeout,
		MaxHeaderBytes:    headersMost,
		ErrorLog:          logging.Standard(o.Log.V(1)),
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams:          MaxStreams,
			MaxReadFrameSize:              frameMost,
			MaxReceiveBufferPerStream:     serverWindow,
			MaxReceiveBufferPerConnection: connectionWindow,
			SendPingTimeout:               ping,
			PingTimeout:                   min(ping, answerMost),
			WriteByteTimeout:              writeTimeout,
			CountError:                    conn.count,
		},
	}
}

// until waits for the end of the line, and says goodbye if the end is planned. It returns whether it was.
func (s *server) until(ctx context.Context, srv *http.Server, begun, gone <-chan struct{}, o ServerOptions) (planned bool) {
	select {
	case <-gone:
		return false
	case <-o.Drain:
		goodbye(ctx, srv)
		planned = true
		select {
		case <-gone:
			return true
		case <-ctx.Done():
		}
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), or(o.Grace, DefaultGrace))
	defer cancel()
	select {
	case <-begun: // before that nothing could say goodbye
		goodbye(ctx, srv)
	case <-gone:
	case <-grace.Done():
	}
	select {
	case <-gone:
	case <-grace.Done():
	}
	return true
}

// goodbye tells the hub that this end is going away, without waiting.
func goodbye(ctx context.Context, srv *http.Server) {
	ended, cancel := context.WithCancel(context.WithoutCancel(ctx))
	cancel()
	_ = srv.Shutdown(ended) // it returns that it did not wait
}

// listener is a net.Listener with a single connection.
type listener struct {
	conn   chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conn:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr implements net.Listener.
func (l *listener) Addr() net.Addr { return &net.UnixAddr{Name: "line", Net: "line"} }

// served is the connection below a server; it records why it ended.
type served struct {
	net.Conn

	mu    sync.Mutex
	cause error
	fault string
}

// Read implements net.Conn.
func (c *served) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.cause == nil {
			c.cause = err
		}
	}
	return n, err
}

func (c *served) count(kind string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fault = kind
}

// reason returns why the line ended.
func (c *served) reason() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.fault == lostPing:
		return errors.New("the hub did not answer")
	case c.cause != nil:
		return fmt.Errorf("the connection ended: %w", c.cause)
	case c.fault != "":
		return fmt.Errorf("the hub does not keep to HTTP/2 (%s)", c.fault)
	}
	return errors.New("what answered does not speak HTTP/2")
}
