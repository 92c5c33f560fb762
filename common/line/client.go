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

// Why a line takes no request, or ended.
var (
	// ErrGoodbye is the end of a line whose agent said before that it would go.
	ErrGoodbye = errors.New("the agent said goodbye")
	// ErrSilent is the end of a line whose agent answered no ping.
	ErrSilent = errors.New("the agent did not answer")
	// ErrReplaced is the end of a line whose agent has a newer one elsewhere.
	ErrReplaced = errors.New("the agent has a newer line")
	// ErrClosed is the end of a line that this end closed.
	ErrClosed = errors.New("the hub closed the line")
	// ErrFull answers requests beyond those that a line carries at a time.
	ErrFull = errors.New("the line carries as many requests as it can")
	// ErrLeaving answers requests on a line that is about to end; there may be a newer one.
	ErrLeaving = errors.New("the line is about to end")
)

// Defaults of ClientOptions.
const (
	// DefaultPing is after how long without a frame the hub asks whether the agent is there.
	DefaultPing = 5 * time.Second
	// DefaultPingTimeout is how long the hub waits for the answer.
	DefaultPingTimeout = 5 * time.Second
)

const (
	// clientWindow is how many bytes of a stream may wait at the hub for who reads it. The window of the connection stays
	// at its large default: readers that stall would fill a small one, and stop all others.
	clientWindow = 256 << 10
	// headersMost bounds the headers of requests and of answers, in bytes.
	headersMost = 64 << 10
	// writeTimeout is how long a write may make no progress before the line counts as lost.
	writeTimeout = 30 * time.Second
)

// ClientOptions are the options of the hub's end. Zero values are the defaults.
type ClientOptions struct {
	// Ping is after how long without a frame the agent is asked whether it is there.
	Ping time.Duration
	// PingTimeout is how long the answer may take.
	PingTimeout time.Duration
	// HeaderTimeout is how long an answer may take to begin; 0 is for ever, and the contexts of requests bound it.
	HeaderTimeout time.Duration
}

// Client is the hub's end of a line. Its methods may be called by several goroutines.
type Client struct {
	conn    *watched
	http    *http.ClientConn
	ready   chan struct{} // closed when http is set
	leaving chan struct{}
	once    sync.Once // closes leaving

	mu       sync.Mutex
	closed   bool // by Close
	said     bool // the agent said goodbye
	replaced bool // by Retire
}

// NewClient makes a connection that an agent opened, and that has carried nothing since, a line. The Client owns the connection,
// also when it fails. The context bounds the beginning only.
func NewClient(ctx context.Context, conn net.Conn, o ClientOptions) (*Client, error) {
	c := &Client{ready: make(chan struct{}), leaving: make(chan struct{})}
	c.conn = watch(conn, c.goodbye)
	protocols := &http.Protocols{}
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{
		DialContext:            func(context.Context, string, string) (net.Conn, error) { return c.conn, nil },
		Protocols:              protocols,
		DisableCompression:     true, // answers pass as they are
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
		_ = c.conn.Close() // the first error is the one to tell
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

// RoundTrip implements http.RoundTripper. The answer to a request that upgrades is like that of net/http's Transport: its status
// is 101 and its body an io.ReadWriteCloser, which has CloseWrite besides. Of the URL only path and query are sent. It fails with
// ErrFull or ErrLeaving without having sent anything.
func (c *Client) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := c.reserve(); err != nil {
		if req.Body != nil {
			_ = req.Body.Close() // as a RoundTripper must; nothing was sent
		}
		return nil, err
	}
	if protocol := headers.Upgrade(req.Header); protocol != "" {
		return c.upgrade(req, protocol)
	}
	return c.send(prepared(req.Context(), req))
}

// prepared is a copy of a request that can be sent.
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

// send sends a request for which there is a place.
func (c *Client) send(req *http.Request) (*http.Response, error) {
	resp, err := c.http.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	resp.Header.Del(contract.LineUpgradeHeader)
	resp.Header.Del(contract.LineStatusHeader)
	return resp, nil
}

// reserve takes a place for one request.
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

// Streams is how many requests the line carries.
func (c *Client) Streams() int { return c.http.InFlight() }

// Done is closed when the line has ended.
func (c *Client) Done() <-chan struct{} { return c.conn.ended }

// Leaving is closed when the line takes no more requests, since the agent said goodbye or this end drains it. The requests that it
// carries go on.
func (c *Client) Leaving() <-chan struct{} { return c.leaving }

// Err says why the line ended; nil if it did not. It is ErrClosed, ErrGoodbye, ErrReplaced, ErrSilent or a sentence about a connection
// that broke or an agent that does not keep to the protocol.
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

// Close ends the line, and all requests that it carries.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.leave()
	return c.http.Close()
}

// Drain asks the agent for another line, takes no new requests on this one, and closes it once it carries none, or when the
// context ends. It returns when the line has ended.
func (c *Client) Drain(ctx context.Context) {
	if req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://line"+contract.LineRenewPath, http.NoBody); err == nil {
		if resp, err := c.RoundTrip(req); err == nil {
			_ = resp.Body.Close() // an agent that does not open another line soon finds that this one has ended
		}
	}
	c.endIdle(ctx)
}

// Retire ends a line whose agent has a newer one: like Drain, but the agent is asked for nothing.
func (c *Client) Retire(ctx context.Context) {
	c.mu.Lock()
	c.replaced = true
	c.mu.Unlock()
	c.endIdle(ctx)
}

// endIdle takes no new requests, and closes the line once it carries none, or when the context ends.
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
			_ = c.Close() // what it could say is that the line has ended
			return
		}
	}
	_ = c.Close() // as above
}

// goodbye is called when the agent says that it goes. A line that carries nothing ends then.
func (c *Client) goodbye() {
	c.mu.Lock()
	c.said = true
	c.mu.Unlock()
	c.leave()
	go func() { // not in the goroutine that reads, which closing ends, and which may be ahead of NewClient
		select {
		case <-c.conn.ended:
		case <-c.ready:
			if c.Streams() == 0 {
				_ = c.http.Close() // what it could say is that the line has ended
			}
		}
	}()
}

func (c *Client) leave() { c.once.Do(func() { close(c.leaving) }) }
