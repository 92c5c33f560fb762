package fleettest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// Proxy is an HTTP CONNECT proxy that knows some names, and connects only to their port 443.
type Proxy struct {
	// Address is the host and port for HTTPS_PROXY.
	Address  string
	listener net.Listener
	targets  map[string]string
	idle     time.Duration

	mu       sync.Mutex
	requests []string
	cut      int
}

// NewProxy serves until the test ends. A connection without traffic for as long as idle is closed; 0 means never.
func NewProxy(t *testing.T, targets map[string]string, idle time.Duration) *Proxy {
	t.Helper()
	p, err := StartProxy(targets, idle)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// StartProxy is NewProxy outside tests; it serves until Close.
func StartProxy(targets map[string]string, idle time.Duration) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("starting a proxy: %w", err)
	}
	p := &Proxy{Address: "http://" + listener.Addr().String(), listener: listener, targets: targets, idle: idle}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go p.serve(conn)
		}
	}()
	return p, nil
}

// Close accepts no more connections; open connections stay.
func (p *Proxy) Close() { _ = p.listener.Close() }

func (p *Proxy) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	reader := bufio.NewReader(conn)
	request, err := http.ReadRequest(reader)
	if err != nil {
		return
	}
	p.mu.Lock()
	p.requests = append(p.requests, request.Method+" "+request.Host)
	p.mu.Unlock()
	target, ok := p.targets[request.Host]
	if request.Method != http.MethodConnect || !ok {
		_, _ = io.WriteString(conn, "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
		return
	}
	out, err := net.Dial("tcp", target)
	if err != nil {
		_, _ = io.WriteString(conn, "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
		return
	}
	defer func() { _ = out.Close() }()
	_, _ = io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n")
	used, stop := p.limit(func() {
		_ = conn.Close()
		_ = out.Close()
	})
	defer stop()
	go func() {
		_, _ = io.Copy(&watched{out, used}, reader)
		_ = out.Close()
	}()
	_, _ = io.Copy(&watched{conn, used}, out)
}

// limit calls end for a connection without traffic for too long; used reports traffic.
func (p *Proxy) limit(end func()) (used, stop func()) {
	if p.idle == 0 {
		return func() {}, func() {}
	}
	timer := time.AfterFunc(p.idle, func() {
		p.mu.Lock()
		p.cut++
		p.mu.Unlock()
		end()
	})
	return func() {
		if timer.Stop() {
			timer.Reset(p.idle)
		}
	}, func() { timer.Stop() }
}

// watched reports writes.
type watched struct {
	io.Writer
	used func()
}

func (w *watched) Write(b []byte) (int, error) {
	w.used()
	return w.Writer.Write(b)
}

// Seen returns the requests so far, each as METHOD HOST.
func (p *Proxy) Seen() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string{}, p.requests...)
}

// Cut returns the number of connections closed for being idle.
func (p *Proxy) Cut() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cut
}
