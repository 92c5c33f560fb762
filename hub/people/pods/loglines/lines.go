// Package loglines takes the log of a container apart into lines. It is pure.
package loglines

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"time"
)

// MaxLine is how long a line may be; a longer one becomes several.
const MaxLine = 1 << 20

// Line is one line of a log, without its end.
type Line struct {
	// At is when the container wrote it; zero if the log does not say so.
	At   time.Time
	Text []byte
}

// Reader reads a log that has the time before each line.
type Reader struct {
	from *bufio.Reader
	// after is the time up to which lines are left out, since they were read before.
	after time.Time
	// inside says that what comes goes on with a line that was too long.
	inside bool
	// skipped says that the line before was left out.
	skipped bool
	line    []byte
}

// NewReader reads a log. Lines up to a time are left out, none if it is zero.
func NewReader(r io.Reader, after time.Time) *Reader {
	const buffer = 16 << 10
	return &Reader{from: bufio.NewReaderSize(r, buffer), after: after}
}

// Next returns the next line, which holds until the one after it is asked for. At the end of the log it returns io.EOF.
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
			whole = true // the container was stopped before it ended its line
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
