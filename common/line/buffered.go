package line

import (
	"bufio"
	"net"
	"net/http"
)

// Early makes an answer of which what takes it over misses nothing that came ahead of its answer: httputil.ReverseProxy
// reads from the connection that it took over, and not from the buffer that goes with it.
func Early(w http.ResponseWriter) http.ResponseWriter { return early{w} }

type early struct{ http.ResponseWriter }

// Unwrap is asked for by http.ResponseController.
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

// Buffered returns a connection that begins with what a reader has read of it already: that of a hijacked request, or of
// the answer to one that upgrades.
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

// halfBuffered is a buffered connection whose halves can be closed.
type halfBuffered struct {
	*buffered
	closeWriter
}

// buffered reads what was buffered first, and then forgets the buffer.
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
