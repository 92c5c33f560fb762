package access

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync/atomic"
)

// copyBuffer is the size of the buffers that streams are copied with, in bytes: streams are many and slow.
const copyBuffer = 16 << 10

// counted is a ResponseWriter that records the status and counts the bytes, including those of a hijacked connection.
type counted struct {
	http.ResponseWriter
	status         int
	sent, received atomic.Int64 // to the member, and from it
}

// Unwrap gives http.ResponseController access to the wrapped writer, to flush for instance.
func (c *counted) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (c *counted) WriteHeader(status int) {
	if c.status == 0 && status >= http.StatusOK {
		c.status = status
	}
	c.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (c *counted) Write(p []byte) (int, error) {
	if c.status == 0 {
		c.status = http.StatusOK
	}
	n, err := c.ResponseWriter.Write(p)
	c.received.Add(int64(n))
	return n, err
}

// Hijack implements http.Hijacker for the proxy, which hijacks the connection once the member has switched protocols.
func (c *counted) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(c.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	c.status = http.StatusSwitchingProtocols
	// Bytes that were read from the client already come first.
	return &countedConn{Conn: conn, first: buffered.Reader, answer: c}, buffered, nil
}

// countedConn is the operator's end of a stream.
type countedConn struct {
	net.Conn
	first  *bufio.Reader
	answer *counted
}

// Read implements net.Conn.
func (c *countedConn) Read(p []byte) (int, error) {
	n, err := c.read(p)
	c.answer.sent.Add(int64(n))
	return n, err
}

func (c *countedConn) read(p []byte) (int, error) {
	if waiting := c.first.Buffered(); waiting > 0 {
		return c.first.Read(p[:min(len(p), waiting)])
	}
	return c.Conn.Read(p)
}

// Write implements net.Conn.
func (c *countedConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.answer.received.Add(int64(n))
	return n, err
}

// CloseWrite half-closes the connection to the operator, if the protocol supports that.
func (c *countedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}

// ReadFrom copies with a buffer of copyBuffer bytes.
func (c *countedConn) ReadFrom(r io.Reader) (int64, error) {
	return io.CopyBuffer(struct{ io.Writer }{c}, struct{ io.Reader }{r}, make([]byte, copyBuffer))
}

// WriteTo copies with a buffer of copyBuffer bytes.
func (c *countedConn) WriteTo(w io.Writer) (int64, error) {
	return io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{c}, make([]byte, copyBuffer))
}

// countedBody counts the bytes that an operator sends.
type countedBody struct {
	io.ReadCloser
	sent *atomic.Int64
}

// Read implements io.Reader.
func (b countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.sent.Add(int64(n))
	return n, err
}
