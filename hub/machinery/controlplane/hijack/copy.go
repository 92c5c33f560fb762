package hijack

import (
	"errors"
	"io"
	"sync"
)

const (
	// waitingSize holds a ping and a small answer.
	waitingSize = 512
	// passingSize is the size of a buffer, as io.Copy has it.
	passingSize = 32 << 10
)

// passing are the buffers of connections on which much passes.
var passing = sync.Pool{New: func() any { return new([passingSize]byte) }} //nolint:gochecknoglobals // A pool is of use only if shared.

// copyAll is io.Copy, which waits with a small buffer. Once that is full it borrows a large one, until little comes again.
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

// copyWithLargeBuffer copies until little comes, or an error.
func copyWithLargeBuffer(to io.Writer, from io.Reader) (int64, error) {
	buffer := passing.Get().(*[passingSize]byte) //nolint:errcheck,forcetypeassert // The pool has nothing else.
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

// copyOnce writes what one read returns; the error of writing is the one to tell.
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
