package line

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"fairlead.dev/common/contract"
	"fairlead.dev/common/line/headers"
)

// Errors about a line that accepts no requests or has ended.
var (
	// ErrGoodbye ends a line whose agent announced its end.
	ErrGoodbye = errors.New("the agent said goodbye")
	// ErrSilent ends a line whose agent did not answer a ping.
	ErrSilent = errors.New("the agent did not answer")
	// ErrReplaced ends a line whose agent has opened a newer one elsewhere.
	ErrReplaced = errors.New("the agent has a newer line")
	// ErrClosed ends a line that this end closed.
	ErrClosed = errors.New("the hub closed the line")
	// ErrFull answers requests beyond the maximum of concurrent ones.
	ErrFull = errors.New("the line carries as many requests as it can")
	// ErrLeaving answers requests on a line that is about to end; there may be a newer one.
	ErrLeaving = errors.New("the line is about to end")
)

// Defaults of ClientOptions.
const (
	// DefaultPing is the silence after which the hub pings the agent.
	DefaultPing = 5 * time.Second
	// DefaultPingTimeout is how long the hub waits for the answer.
	DefaultPingTimeout = 5 * time.Second
)

const (
	// clientWindow is the flow-control window of a stream at the hub. The window of the connection stays at its large
	// default: stalled readers would exhaust a small one, and block all others.
	clientWindow = 256 << 10
	// headersMost bounds the headers of requests and of answers, in bytes.
	headersMost = 64 << 10
	// writeTimeout is how long a write may make no progress before the line counts as lost.
	writeTimeout = 30 * time.Second
)

// ClientOptions configure the hub's end. Zero values mean the defaults.
type ClientOptions struct {
	// Ping is the silence after which the agent is pinged.
	Ping time.Duration
	// PingTimeout bounds the answer to a ping.
	PingTimeout time.Duration
	// HeaderTimeout bounds the time until an answer begins; 0 means no bound other than the contexts of requests.
	HeaderTimeout time.Duration
}

// Client is the hub's end of a line. It is safe for concurrent use.
type Client struct {
	conn    *watched
	http    *http.ClientConn
	ready   chan struct{} // closed when http is set
	leaving chan struct{}
	once    sync.Once // closes leaving

	mu       sync.Mutex
	closed   bool // by Close
	said     bool // the agent announced its end
	replaced bool // by Retire
}

// NewClient makes a line of a connection that an agent opened, and that has carried nothing since. The Client owns
// the connection, even if it fails. The context bounds only the setup.
func NewClient(ctx context.Context, conn net.Conn, o ClientOptions) (*Client, error) {
	c := &Client{ready: make(chan struct{}), leaving: make(chan struct{})}
	c.conn = watch(conn, c.goodbye)
	protocols := &http.Protocols{}
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{
		DialContext:            func(context.Context, string, string) (net.Conn, error) { return c.conn, nil },
		Protocols:              protocols,
		DisableCompression:     true, // answers are passed on unchanged
		MaxResponseHeaderBytes: headersMost,
		ResponseHeaderTimeout:  o.HeaderTimeout,
		HTTP2: &http.HTTP2Config{
			MaxReadFrameSize:          frameMost,
			MaxReceiveBufferPerStream: clientWindow,
			SendPingTimeout:           or(o.Ping, DefaultPing),
			PingTimeout:               or(o.PingTimeout, DefaultPingTimeout),
			WriteByteTimeout:          writeTimeout,
		},
	}
	var err error
	if c.http, err = transport.NewClientConn(ctx, "http", "line:80"); err != nil {
		_ = c.conn.Close() // report the first error, not this one
		return nil, fmt.Errorf("beginning to talk on a line: %w", err)
	}
	close(c.ready)
	return c, nil
}

func or(d, fallback time.Duration) time.Duration {
	if d <= 0 {
		return fallback
	}
	return d
}

// RoundTrip implements http.RoundTripper. The answer to an upgrade request is like that of net/http's Transport: its
// status is 101 and its body an io.ReadWriteCloser that also has CloseWrite. Only the path and query of the URL are
// sent. It fails with ErrFull or ErrLeaving before anything is sent.
func (c *Client) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := c.reserve(); err != nil {
		if req.Body != nil {
			_ = req.Body.Close() // required of a RoundTripper; nothing was sent
		}
		return nil, err
	}
	if protocol := headers.Upgrade(req.Header); protocol != "" {
		return c.upgrade(req, protocol)
	}
	return c.send(prepared(req.Context(), req))
}

// prepared returns a copy of a request that can be sent.
func prepared(ctx context.Context, req *http.Request) *http.Request {
	out := req.Clone(ctx)
	if out.Header == nil {
		out.Header = http.Header{}
	}
	out.URL.Scheme = "http"
	if out.URL.Host == "" {
		out.URL.Host = "line"
	}
	for _, name := range []string{contract.LineMethodHeader, contract.LineUpgradeHeader, contract.LineStatusHeader, "Connection", "Upgrade"} {
		out.Header.Del(name)
	}
	return out
}

// send sends a request for which a place is reserved.
func (c *Client) send(req *http.Request) (*http.Response, error) {
	resp, err := c.http.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	resp.Header.Del(contract.LineUpgradeHeader)
	resp.Header.Del(contract.LineStatusHeader)
	return resp, nil
}

// reserve reserves a place for one request.
func (c *Client) reserve() error {
	select {
	case <-c.conn.ended:
		return c.Err()
	case <-c.leaving:
		return ErrLeaving
	default:
	}
	if c.http.Reserve() == nil {
		return nil
	}
	select {
	case <-c.conn.ended:
		return c.Err()
	default:
		return ErrFull
	}
}

// Streams returns the number of requests in progress.
func (c *Client) Streams() int { return c.http.InFlight() }

// Done returns a channel that is closed when the line has ended.
func (c *Client) Done() <-chan struct{} { return c.conn.ended }

// Leaving returns a channel that is closed when the line accepts no more requests, because the agent announced its
// end or this end drains it. Requests in progress continue.
func (c *Client) Leaving() <-chan struct{} { return c.leaving }

// Err returns why the line ended; nil if it has not. It is ErrClosed, ErrGoodbye, ErrReplaced, ErrSilent or an error
// about a broken connection or a protocol violation of the agent.
func (c *Client) Err() error {
	select {
	case <-c.conn.ended:
	default:
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	reason := c.conn.reason()
	switch {
	case c.said:
		return ErrGoodbye
	case c.replaced:
		return ErrReplaced
	case c.closed:
		return ErrClosed
	case c.conn.silent.Load():
		return ErrSilent
	case reason != nil:
		return reason
	}
	return errors.New("the other end does not keep to HTTP/2")
}

// Close ends the line and all its requests.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.leave()
	return c.http.Close()
}

// Drain asks the agent for another line, accepts no new requests on this one, and closes it once it has none in
// progress, or when the context ends. It returns when the line has ended.
func (c *Client) Drain(ctx context.Context) {
	if req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://line"+contract.LineRenewPath, http.NoBody); err == nil {
		if resp, err := c.RoundTrip(req); err == nil {
			_ = resp.Body.Close() // an agent that does not open another line soon will notice the end of this one
		}
	}
	c.endIdle(ctx)
}

// Retire is Drain for a line whose agent already has a newer one.
func (c *Client) Retire(ctx context.Context) {
	c.mu.Lock()
	c.replaced = true
	c.mu.Unlock()
	c.endIdle(ctx)
}

// endIdle accepts no new requests, and closes the line once it has none in progress, or when the context ends.
func (c *Client) endIdle(ctx context.Context) {
	c.leave()
	idle := make(chan struct{}, 1)
	c.http.SetStateHook(func(*http.ClientConn) {
		select {
		case idle <- struct{}{}:
		default:
		}
	})
	for c.Streams() > 0 {
		select {
		case <-idle:
		case <-c.Done():
			return
		case <-ctx.Done():
			_ = c.Close() // an error could only be that the line has ended
			return
		}
	}
	_ = c.Close() // as above
}

// goodbye is called when the agent announces its end. A line without requests ends then.
func (c *Client) goodbye() {
	c.mu.Lock()
	c.said = true
	c.mu.Unlock()
	c.leave()
	go func() { // not in the reading goroutine, which closing ends, and which may run before NewClient is done
		select {
		case <-c.conn.ended:
		case <-c.ready:
			if c.Streams() == 0 {
				_ = c.http.Close() // an error could only be that the line has ended
			}
		}
	}()
}

func (c *Client) leave() { c.once.Do(func() { close(c.leaving) }) }
