package fleettest

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
)

// Proxy is the only way out: it connects to the names that it knows, and only to port 443.
type Proxy struct {
	// Address is for HTTPS_PROXY.
	Address string
	targets map[string]string

	mu       sync.Mutex
	requests []string
}

// NewProxy serves until the test ends.
func NewProxy(t *testing.T, targets map[string]string) *Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{Address: "http://" + listener.Addr().String(), targets: targets}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go p.serve(conn)
		}
	}()
	return p
}

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
	go func() {
		_, _ = io.Copy(out, reader)
		_ = out.Close()
	}()
	_, _ = io.Copy(conn, out)
}

// Seen returns what it was asked for so far: METHOD HOST of each.
func (p *Proxy) Seen() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string{}, p.requests...)
}
