package line

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"fairlead.dev/common/contract"
)

// server handles all requests of a line.
type server struct {
	handler http.Handler
	uploads chan struct{} // a semaphore for requests with a body

	mu      sync.Mutex
	running int
	ended   bool
	idle    chan struct{} // closed when it has ended and no handler runs
}

// ServeHTTP implements http.Handler.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.begin() {
		return
	}
	defer s.end()
	if r.ContentLength != 0 {
		select {
		case s.uploads <- struct{}{}:
			defer func() { <-s.uploads }()
		default:
			w.Header().Set("Retry-After", "1")
			http.Error(w, "the line carries "+strconv.Itoa(MaxUploads)+" requests with a body, which is as many as it can; try again", http.StatusTooManyRequests)
			return
		}
	}
	method, protocol := r.Header.Get(contract.LineMethodHeader), r.Header.Get(contract.LineUpgradeHeader)
	for _, name := range []string{contract.LineMethodHeader, contract.LineUpgradeHeader, contract.LineStatusHeader} {
		r.Header.Del(name)
	}
	if protocol == "" {
		s.handler.ServeHTTP(&writer{ResponseWriter: w}, r)
		return
	}
	conn := &hijacked{writer: w, body: r.Body, control: http.NewResponseController(w), closed: make(chan struct{})}
	conn.reader.from, conn.chunks.to, conn.chunks.flush = r.Body, w, conn.control.Flush
	r.Method, r.Body, r.ContentLength, r.TransferEncoding = method, http.NoBody, 0, nil
	r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/1.1", 1, 1
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", protocol)
	upgrading := &upgrader{writer: writer{ResponseWriter: w}, conn: conn}
	s.handler.ServeHTTP(upgrading, r)
	if upgrading.taken {
		conn.wait(r.Context())
	}
}

// begin returns whether a request may still be answered.
func (s *server) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	s.running++
	return true
}

func (s *server) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running--; s.running == 0 && s.ended {
		close(s.idle)
	}
}

// wait rejects new requests and waits for those in progress.
func (s *server) wait() {
	s.mu.Lock()
	s.ended = true
	if s.running == 0 {
		s.mu.Unlock()
		return
	}
	s.mu.Unlock()
	<-s.idle
}

// writer removes the header Connection from answers: net/http takes "Connection: close" as a request to shut the
// HTTP/2 connection down, which would end the line.
type writer struct {
	http.ResponseWriter
	wrote bool
}

// WriteHeader implements http.ResponseWriter.
func (w *writer) WriteHeader(code int) {
	w.Header().Del("Connection")
	w.wrote = w.wrote || code >= http.StatusOK
	w.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (w *writer) Write(p []byte) (int, error) {
	if !w.wrote {
		w.WriteHeader(http.StatusOK)
	}
	return w.ResponseWriter.Write(p)
}

// Flush implements http.Flusher.
func (w *writer) Flush() { _ = w.FlushError() }

// FlushError is called by http.ResponseController.
func (w *writer) FlushError() error {
	if !w.wrote {
		w.WriteHeader(http.StatusOK)
	}
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap is called by http.ResponseController.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// upgrader is the ResponseWriter of an upgrade request.
type upgrader struct {
	writer
	conn  *hijacked
	taken bool
}

// Hijack implements http.Hijacker.
func (u *upgrader) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	if u.taken || u.wrote {
		return nil, nil, http.ErrHijacked
	}
	u.taken = true
	return u.conn, bufio.NewReadWriter(bufio.NewReaderSize(u.conn, smallBuffer), bufio.NewWriterSize(u.conn, smallBuffer)), nil
}

// smallBuffer is the size of a hijacked connection's buffers, which are mostly used for the head of the answer only.
const smallBuffer = 512

// hijacked is a connection that a handler took over: the handler writes the head of an HTTP/1.1 answer to it, and
// then raw bytes.
type hijacked struct {
	writer  http.ResponseWriter
	control *http.ResponseController
	body    io.Closer
	reader  chunkReader
	chunks  chunkWriter

	mu     sync.Mutex
	head   []byte // of the answer, until it is complete
	begun  bool   // the head was sent
	once   sync.Once
	closed chan struct{}
}

var errNotUpgraded = errors.New("line: what took over a request that upgrades did not answer with 101")

// Read implements net.Conn.
func (h *hijacked) Read(p []byte) (int, error) { return h.reader.Read(p) }

// WriteTo implements io.WriterTo.
func (h *hijacked) WriteTo(w io.Writer) (int64, error) { return h.reader.WriteTo(w) }

// Write implements net.Conn.
func (h *hijacked) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.isClosed() {
		return 0, net.ErrClosed
	}
	if h.begun {
		return h.chunks.Write(p)
	}
	h.head = append(h.head, p...)
	end := bytes.Index(h.head, []byte("\r\n\r\n"))
	if end < 0 {
		if len(h.head) > headersMost {
			return 0, errNotUpgraded
		}
		return len(p), nil
	}
	rest := h.head[end+4:]
	if err := h.answer(h.head[:end+4]); err != nil {
		return 0, err
	}
	h.head, h.begun = nil, true
	if _, err := h.chunks.Write(rest); err != nil {
		return 0, err
	}
	return len(p), nil
}

// answer sends the head of an HTTP/1.1 answer in the form used on a line.
func (h *hijacked) answer(head []byte) error {
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(head)), nil)
	if err != nil {
		return err
	}
	_ = resp.Body.Close() // it is empty
	if resp.StatusCode != http.StatusSwitchingProtocols {
		return errNotUpgraded
	}
	header := h.writer.Header()
	clear(header)
	maps.Copy(header, resp.Header)
	header.Del("Connection")
	header.Del("Upgrade")
	header.Del("Content-Length") // net/http would send 0 for a POST, but what follows a 101 has no length
	header.Set(contract.LineUpgradeHeader, resp.Header.Get("Upgrade"))
	header.Set(contract.LineStatusHeader, strconv.Itoa(http.StatusSwitchingProtocols))
	h.writer.WriteHeader(http.StatusOK)
	return h.control.Flush()
}

// CloseWrite tells the hub that nothing more follows.
func (h *hijacked) CloseWrite() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.isClosed():
		return net.ErrClosed
	case !h.begun:
		return errNotUpgraded
	}
	return h.chunks.CloseWrite()
}

// isClosed returns whether the stream has ended: net/http panics on writes after the handler has returned. It is
// called with the lock held, for which the end of the handler waits.
func (h *hijacked) isClosed() bool {
	select {
	case <-h.closed:
		return true
	default:
		return false
	}
}

// Close ends the stream in both directions.
func (h *hijacked) Close() error {
	h.once.Do(func() {
		close(h.closed)
		_ = h.body.Close()
	})
	return nil
}

// wait keeps the stream open until it is closed or the hub ends it.
func (h *hijacked) wait(ctx context.Context) {
	select {
	case <-h.closed:
	case <-ctx.Done():
		_ = h.Close() // it never fails
	}
	if !h.mu.TryLock() { // a pending write must not touch the ended stream
		_ = h.control.SetWriteDeadline(time.Unix(1, 0)) // in the past; an ended stream needs no deadline
		h.mu.Lock()
	}
	defer h.mu.Unlock()
	if !h.begun {
		h.writer.WriteHeader(http.StatusBadGateway)
	}
}

// LocalAddr implements net.Conn.
func (h *hijacked) LocalAddr() net.Addr { return &net.UnixAddr{Name: "line", Net: "line"} }

// RemoteAddr implements net.Conn.
func (h *hijacked) RemoteAddr() net.Addr { return h.LocalAddr() }

// SetDeadline implements net.Conn.
func (h *hijacked) SetDeadline(t time.Time) error {
	return errors.Join(h.SetReadDeadline(t), h.SetWriteDeadline(t))
}

// SetReadDeadline implements net.Conn.
func (h *hijacked) SetReadDeadline(t time.Time) error { return h.control.SetReadDeadline(t) }

// SetWriteDeadline implements net.Conn.
func (h *hijacked) SetWriteDeadline(t time.Time) error { return h.control.SetWriteDeadline(t) }
