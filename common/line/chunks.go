package line

import (
	"encoding/binary"
	"errors"
	"io"
	"sync"
)

// A chunk is its length in two bytes, big-endian, followed by as many bytes. An empty chunk says that its sender will
// send no more: a half-close.
const (
	chunkHeader = 2
	// chunkMost makes a chunk fit into one HTTP/2 frame.
	chunkMost = frameMost - chunkHeader
)

// buffers are held only while a chunk is written, so that idle streams hold none.
var buffers = sync.Pool{New: func() any { return new([frameMost]byte) }} //nolint:gochecknoglobals // A pool is of use only if shared.

// errWriteClosed is returned for writes after a half-close.
var errWriteClosed = errors.New("line: write after the half-close")

// chunkWriter writes chunks. It is safe for concurrent use.
type chunkWriter struct {
	mu     sync.Mutex
	to     io.Writer
	flush  func() error // after each chunk; may be nil
	closed bool
}

// Write implements io.Writer.
func (c *chunkWriter) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return 0, errWriteClosed
	}
	done := 0
	for len(p) > done {
		n := min(len(p)-done, chunkMost)
		if err := c.send(p[done : done+n]); err != nil {
			return done, err
		}
		done += n
	}
	return done, nil
}

// CloseWrite tells the other end that nothing more follows. It may be called repeatedly.
func (c *chunkWriter) CloseWrite() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	c.closed = true
	return c.send(nil)
}

// send writes one chunk.
func (c *chunkWriter) send(p []byte) error {
	buffer := buffers.Get().(*[frameMost]byte) //nolint:errcheck,forcetypeassert // The pool has nothing else.
	defer buffers.Put(buffer)
	binary.BigEndian.PutUint16(buffer[:], uint16(len(p)))
	n := copy(buffer[chunkHeader:], p)
	if _, err := c.to.Write(buffer[:chunkHeader+n]); err != nil {
		return err
	}
	if c.flush == nil {
		return nil
	}
	return c.flush()
}

// chunkReader reads chunks up to the empty one. It is not safe for concurrent reads.
type chunkReader struct {
	from io.Reader
	left int // of the chunk that is being read
	done bool
}

// Read implements io.Reader. A stream that ends without the empty chunk yields io.ErrUnexpectedEOF.
func (c *chunkReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if err := c.next(); err != nil {
		return 0, err
	}
	n, err := c.from.Read(p[:min(len(p), c.left)])
	c.left -= n
	if n > 0 {
		return n, nil // the next call returns the error again
	}
	return 0, unexpected(err)
}

// WriteTo implements io.WriterTo. It holds a buffer only while there is something to write.
func (c *chunkReader) WriteTo(w io.Writer) (int64, error) {
	total := int64(0)
	for {
		switch err := c.next(); {
		case errors.Is(err, io.EOF):
			return total, nil
		case err != nil:
			return total, err
		}
		n, err := c.pass(w)
		total += int64(n)
		if err != nil {
			return total, err
		}
	}
}

// pass copies up to the rest of a chunk.
func (c *chunkReader) pass(w io.Writer) (int, error) {
	buffer := buffers.Get().(*[frameMost]byte) //nolint:errcheck,forcetypeassert // The pool has nothing else.
	defer buffers.Put(buffer)
	n, err := c.from.Read(buffer[:min(len(buffer), c.left)])
	c.left -= n
	if n > 0 {
		return w.Write(buffer[:n])
	}
	return 0, unexpected(err)
}

// next waits for a chunk, unless one is being read; it returns io.EOF after the last.
func (c *chunkReader) next() error {
	if c.done {
		return io.EOF
	}
	if c.left > 0 {
		return nil
	}
	var header [chunkHeader]byte
	if _, err := io.ReadFull(c.from, header[:]); err != nil {
		return unexpected(err)
	}
	if c.left = int(binary.BigEndian.Uint16(header[:])); c.left == 0 {
		c.done = true
		return io.EOF
	}
	return nil
}

// unexpected turns an io.EOF into io.ErrUnexpectedEOF.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
