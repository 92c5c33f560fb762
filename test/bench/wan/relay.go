package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"time"
)

// buffer is the size of the kernel's buffer at each end of the line.
const buffer = 32 << 10

// narrow limits a socket to packets of a line. Packets on one machine are 64 kB, and the kernel would queue so many
// that later data arrives minutes late.
func narrow(_, _ string, conn syscall.RawConn) error {
	var err error
	control := func(fd uintptr) {
		err = errors.Join(
			syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_MAXSEG, packet),
			syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, buffer),
			syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_SNDBUF, buffer),
		)
	}
	return errors.Join(conn.Control(control), err)
}

// relay implements the line: it accepts connections of the agent and forwards them to the hub.
type relay struct {
	listener net.Listener
	up, down *way

	mu sync.Mutex
	// target is the hub's address.
	target string
	// open is closed while the line is up, and replaced while it is down.
	open chan struct{}
	// connections is the number of connections opened.
	connections int
	first       time.Time
}

func newRelay(ctx context.Context, l line) (*relay, error) {
	config := net.ListenConfig{Control: narrow}
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening for the agent: %w", err)
	}
	r := &relay{listener: listener, up: newWay(l, 1), down: newWay(l, 2), open: make(chan struct{})}
	go r.serve(ctx)
	return r, nil
}

// URL returns the URL for the agent.
func (r *relay) URL() string { return "https://" + r.listener.Addr().String() }

// Connect brings the line up, to a hub at an address.
func (r *relay) Connect(target string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.target = target
	close(r.open)
}

// Cut takes the line down: data in flight and new data wait.
func (r *relay) Cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open = make(chan struct{})
}

// state returns the address of the hub, and a channel that is closed while the line is up.
func (r *relay) state() (string, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.target, r.open
}

func (r *relay) serve(ctx context.Context) {
	for {
		conn, err := r.listener.Accept()
		if err != nil {
			return
		}
		r.mu.Lock()
		r.connections++
		if r.first.IsZero() {
			r.first = time.Now()
		}
		r.mu.Unlock()
		go r.carry(ctx, conn)
	}
}

// carry forwards one connection.
func (r *relay) carry(ctx context.Context, agent net.Conn) {
	defer func() { _ = agent.Close() }()
	_, open := r.state()
	select {
	case <-open:
	case <-ctx.Done():
		return
	}
	// The TCP handshake takes a round trip before any data.
	if !sleep(ctx, r.up.delay+r.down.delay) {
		return
	}
	target, _ := r.state()
	d := net.Dialer{Control: narrow}
	hub, err := d.DialContext(ctx, "tcp", target)
	if err != nil {
		return
	}
	defer func() { _ = hub.Close() }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		r.pump(ctx, r.up, agent, hub)
		cancel()
	}()
	go func() {
		r.pump(ctx, r.down, hub, agent)
		cancel()
	}()
	<-ctx.Done()
}

// chunk is a packet in flight.
type chunk struct {
	data    []byte
	arrives time.Time
}

// pump forwards data from one end to the other until one of them ends.
func (r *relay) pump(ctx context.Context, w *way, from io.Reader, to io.Writer) {
	onTheWay := make(chan chunk, 4096)
	go func() {
		defer close(onTheWay)
		var last time.Time
		for {
			data := make([]byte, packet)
			n, err := from.Read(data)
			if n > 0 {
				arrives, next := w.send(time.Now(), n)
				last = later(last, arrives) // in order, whatever was lost before
				select {
				case onTheWay <- chunk{data[:n], last}:
				case <-ctx.Done():
					return
				}
				if !sleep(ctx, time.Until(next)) {
					return
				}
			}
			if err != nil {
				return
			}
		}
	}()
	for c := range onTheWay {
		if !sleep(ctx, time.Until(c.arrives)) {
			return
		}
		_, open := r.state()
		select {
		case <-open:
		case <-ctx.Done():
			return
		}
		if _, err := to.Write(c.data); err != nil {
			return
		}
	}
}

// usage is the traffic on the line so far.
type usage struct {
	up, down    int64
	connections int
}

func (r *relay) usage() usage {
	r.mu.Lock()
	defer r.mu.Unlock()
	return usage{up: r.up.sent(), down: r.down.sent(), connections: r.connections}
}

func (u usage) minus(v usage) usage {
	return usage{up: u.up - v.up, down: u.down - v.down, connections: u.connections - v.connections}
}

// Close stops the relay.
func (r *relay) Close() error {
	if err := r.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("ending the relay: %w", err)
	}
	return nil
}

// sleep waits, and reports whether the context is still alive.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
