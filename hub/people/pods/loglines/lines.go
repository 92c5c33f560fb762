// Package loglines splits the log of a container into lines. It is pure.
package loglines

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"time"
)

// MaxLine is the greatest length of a line in bytes; longer ones are split.
const MaxLine = 1 << 20

// Line is a line of a log, without its newline.
type Line struct {
	// At is the time at which the container wrote it; zero if the log has none.
	At   time.Time
	Text []byte
}

// Reader reads a log with timestamps.
type Reader struct {
	from *bufio.Reader
	// after is the time up to which lines are skipped, since they were read before.
	after time.Time
	// inside says that the next line continues one that was too long.
	inside bool
	// skipped says that the previous line was skipped.
	skipped bool
	line    []byte
}

// NewReader returns a reader of a log. It skips lines up to a time, unless that is zero.
func NewReader(r io.Reader, after time.Time) *Reader {
	const buffer = 16 << 10
	return &Reader{from: bufio.NewReaderSize(r, buffer), after: after}
}

// Next returns the next line, which is valid until the next call. At the end of the log it returns io.EOF.
func (r *Reader) Next() (Line, error) {
	for {
		rest := r.inside
		line, err := r.next()
		if err != nil {
			return Line{}, err
		}
		if !rest {
			r.skipped = !line.At.IsZero() && !line.At.After(r.after)
		}
		if !r.skipped {
			return line, nil
		}
	}
}

func (r *Reader) next() (Line, error) {
	r.line = r.line[:0]
	whole := false
	for !whole && len(r.line) < MaxLine {
		part, err := r.from.ReadSlice('\n')
		r.line = append(r.line, part...)
		switch {
		case err == nil:
			whole = true
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(r.line) > 0:
			whole = true // the container was stopped in the middle of a line
		default:
			return Line{}, err
		}
	}
	text := bytes.TrimSuffix(r.line, []byte("\n"))
	out := Line{Text: text}
	if !r.inside {
		stamp, rest, _ := bytes.Cut(text, []byte(" "))
		if at, err := time.Parse(time.RFC3339Nano, string(stamp)); err == nil {
			out = Line{At: at, Text: rest}
		}
	}
	r.inside = !whole
	return out, nil
}
