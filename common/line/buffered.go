package line

import (
	"bufio"
	"net"
	"net/http"
)

// Early wraps a ResponseWriter for a hijacker that reads from the connection and ignores the buffer that comes with
// it, like httputil.ReverseProxy: bytes that arrived early are not lost.
func Early(w http.ResponseWriter) http.ResponseWriter { return early{w} }

type early struct{ http.ResponseWriter }

// Unwrap gives http.ResponseController access to the wrapped writer.
func (e early) Unwrap() http.ResponseWriter { return e.ResponseWriter }

// Hijack implements http.Hijacker.
func (e early) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(e.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	conn = Buffered(conn, rw.Reader)
	return conn, bufio.NewReadWriter(bufio.NewReaderSize(conn, smallBuffer), rw.Writer), nil
}

// Buffered returns a connection that first yields the bytes a reader has already buffered from it: that of a hijacked
// request, or of the answer to an upgrade.
func Buffered(conn net.Conn, reader *bufio.Reader) net.Conn {
	if reader == nil || reader.Buffered() == 0 {
		return conn
	}
	b := &buffered{Conn: conn, reader: reader}
	if half, ok := conn.(closeWriter); ok {
		return &halfBuffered{buffered: b, closeWriter: half}
	}
	return b
}

type closeWriter interface{ CloseWrite() error }

// halfBuffered is a buffered connection that supports half-close.
type halfBuffered struct {
	*buffered
	closeWriter
}

// buffered reads the buffered bytes first, and then drops the buffer.
type buffered struct {
	net.Conn
	reader *bufio.Reader
}

// Read implements net.Conn.
func (b *buffered) Read(p []byte) (int, error) {
	if b.reader == nil {
		return b.Conn.Read(p)
	}
	n, err := b.reader.Read(p[:min(len(p), b.reader.Buffered())])
	if b.reader.Buffered() == 0 {
		b.reader = nil
	}
	return n, err
}
