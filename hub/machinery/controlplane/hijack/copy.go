package hijack

import (
	"errors"
	"io"
	"sync"
)

const (
	// waitingSize fits a ping and a small response.
	waitingSize = 512
	// passingSize is the buffer size of io.Copy.
	passingSize = 32 << 10
)

// passing are the buffers of busy connections.
var passing = sync.Pool{New: func() any { return new([passingSize]byte) }} //nolint:gochecknoglobals // A pool must be shared.

// copyAll is io.Copy with a small buffer while it waits. When that is filled, it borrows a large one until little data
// comes again.
func copyAll(to io.Writer, from io.Reader) (int64, error) {
	var total int64
	waiting := make([]byte, waitingSize)
	for {
		n, err := copyOnce(to, from, waiting)
		total += int64(n)
		if n == len(waiting) && err == nil {
			var more int64
			more, err = copyWithLargeBuffer(to, from)
			total += more
		}
		if errors.Is(err, io.EOF) {
			return total, nil
		}
		if err != nil {
			return total, err
		}
	}
}

// copyWithLargeBuffer copies until little data comes, or an error.
func copyWithLargeBuffer(to io.Writer, from io.Reader) (int64, error) {
	buffer := passing.Get().(*[passingSize]byte) //nolint:errcheck,forcetypeassert // The pool contains nothing else.
	defer passing.Put(buffer)
	var total int64
	for {
		n, err := copyOnce(to, from, buffer[:])
		total += int64(n)
		if err != nil || n < waitingSize {
			return total, err
		}
	}
}

// copyOnce writes the result of one read. An error of writing takes precedence.
func copyOnce(to io.Writer, from io.Reader, buffer []byte) (int, error) {
	n, err := from.Read(buffer)
	if n == 0 {
		return 0, err
	}
	written, errWrite := to.Write(buffer[:n])
	switch {
	case errWrite != nil:
		return written, errWrite
	case written < n:
		return written, io.ErrShortWrite
	}
	return n, err
}
