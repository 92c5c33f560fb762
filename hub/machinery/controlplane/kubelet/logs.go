package kubelet

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

// followPeriod is how often a followed log is polled.
const followPeriod = 50 * time.Millisecond

// timestampFormat has all nine digits, so that times sort like their texts.
const timestampFormat = "2006-01-02T15:04:05.000000000Z07:00"

func (p *pods) serveLogs(w http.ResponseWriter, r *http.Request) {
	c, err := p.container(name(r), r.PathValue("container"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	options, err := parseLogOptions(r.URL.Query(), p.clock.Now())
	if err == nil && options.previous {
		err = fmt.Errorf("previous terminated container %q in pod %q not found", r.PathValue("container"), r.PathValue("pod"))
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	file, err := os.Open(c.log)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer func() { _ = file.Close() }()
	log := &logReader{file: file, times: p.timesOf(c), options: options}
	if options.tail != nil {
		if log.offset, err = offsetOfLast(file, *options.tail); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	out := &flushing{w: w, controller: http.NewResponseController(w)}
	w.Header().Set("Content-Type", "text/plain")
	out.flush()
	if err := log.copy(out); err != nil || !options.follow {
		return
	}
	p.repeat(r.Context(), func() error { return log.copy(out) })
}

// repeat calls f until it fails or the context ends.
func (p *pods) repeat(ctx context.Context, f func() error) {
	ticker := p.clock.NewTicker(followPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
		if err := f(); err != nil {
			return
		}
	}
}

// follow copies what is appended, until the context or the client ends.
func (p *pods) follow(ctx context.Context, to io.Writer, log io.Reader) {
	p.repeat(ctx, func() error {
		_, err := io.Copy(to, log)
		return err
	})
}

// errLimit says that the requested number of bytes was sent.
var errLimit = errors.New("the limit of bytes is reached")

// logReader reads a log line by line from an offset.
type logReader struct {
	file    *os.File
	times   *times
	options logOptions

	offset int64
	// within says that the offset is inside a line, and shown whether that line is sent.
	within, shown bool
	sent          int64
}

// copy sends what was appended to the log since the last call.
func (l *logReader) copy(to io.Writer) error {
	end, err := l.times.catchUp()
	if err != nil {
		return err
	}
	if end < l.offset { // The file was truncated.
		l.offset, l.within = 0, false
	}
	from := bufio.NewReader(io.NewSectionReader(l.file, l.offset, end-l.offset))
	for {
		chunk, err := from.ReadSlice('\n')
		if len(chunk) > 0 {
			if err := l.send(to, chunk); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return err
		}
	}
}

// send sends a line or a part of one.
func (l *logReader) send(to io.Writer, chunk []byte) error {
	if !l.within {
		at := l.times.at(l.offset)
		l.shown = l.options.stdout && !at.Before(l.options.since)
		if l.shown && l.options.timestamps {
			if err := l.write(to, []byte(at.UTC().Format(timestampFormat)+" ")); err != nil {
				return err
			}
		}
	}
	l.offset += int64(len(chunk))
	l.within = !bytes.HasSuffix(chunk, []byte{'\n'})
	if !l.shown {
		return nil
	}
	return l.write(to, chunk)
}

// write sends up to the limit.
func (l *logReader) write(to io.Writer, b []byte) error {
	var over error
	if limit := l.options.limit; limit != nil && int64(len(b)) >= *limit-l.sent {
		b, over = b[:max(*limit-l.sent, 0)], errLimit
	}
	n, err := to.Write(b)
	l.sent += int64(n)
	return errors.Join(err, over)
}

// offsetOfLast returns the offset of the last lines of a file.
func offsetOfLast(file io.ReadSeeker, lines int64) (int64, error) {
	var total, offset int64
	_, err := eachLine(file, func(int64) bool { total++; return true })
	if err != nil || total <= lines {
		return 0, err
	}
	end, err := eachLine(file, func(at int64) bool {
		offset = at
		total--
		return total >= lines
	})
	if lines == 0 {
		return end, err
	}
	return offset, err
}

// eachLine calls f with the offset of each line, including an unfinished last one, until it returns false. It returns
// the offset that it has reached.
func eachLine(file io.ReadSeeker, f func(at int64) bool) (int64, error) {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	scan, offset, within := bufio.NewReader(file), int64(0), false
	for {
		chunk, err := scan.ReadSlice('\n')
		if len(chunk) > 0 && !within && !f(offset) {
			return offset, nil
		}
		offset += int64(len(chunk))
		within = len(chunk) > 0 && !strings.HasSuffix(string(chunk), "\n")
		switch {
		case errors.Is(err, io.EOF):
			return offset, nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return offset, err
		}
	}
}

// flushing flushes each write.
type flushing struct {
	w          io.Writer
	controller *http.ResponseController
}

func (f *flushing) Write(b []byte) (int, error) {
	n, err := f.w.Write(b)
	if err == nil {
		err = f.controller.Flush()
	}
	return n, err
}

func (f *flushing) flush() { _ = f.controller.Flush() }
