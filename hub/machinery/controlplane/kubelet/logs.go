package kubelet

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"
)

// followPeriod is how often a log that is followed is looked at.
const followPeriod = 50 * time.Millisecond

// serveLogs knows follow, tailLines and limitBytes; the other options it takes for unset.
func (p *pods) serveLogs(w http.ResponseWriter, r *http.Request) {
	c, err := p.container(name(r), r.PathValue("container"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	log, err := os.Open(c.log)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer func() { _ = log.Close() }()
	query := r.URL.Query()
	if tail, err := strconv.Atoi(query.Get("tailLines")); err == nil {
		if err := skipTo(log, tail); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	out := &flushing{w: w, controller: http.NewResponseController(w)}
	w.Header().Set("Content-Type", "text/plain")
	out.flush()
	source := io.Reader(log)
	if limit, err := strconv.ParseInt(query.Get("limitBytes"), 10, 64); err == nil {
		source = io.LimitReader(log, limit)
	}
	follow, _ := strconv.ParseBool(query.Get("follow")) //nolint:errcheck // what is no bool is not followed
	if _, err := io.Copy(out, source); err != nil || !follow {
		return
	}
	p.follow(r.Context(), out, source)
}

// follow copies what is written from now on, until the context or the reader ends.
func (p *pods) follow(ctx context.Context, to io.Writer, log io.Reader) {
	ticker := p.clock.NewTicker(followPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
		if _, err := io.Copy(to, log); err != nil {
			return
		}
	}
}

// skipTo leaves so many lines of a file to be read.
func skipTo(file io.ReadSeeker, lines int) error {
	total := 0
	scan := bufio.NewReader(file)
	for {
		chunk, err := scan.ReadSlice('\n')
		if bytes.HasSuffix(chunk, []byte{'\n'}) {
			total++
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	offset := int64(0)
	scan.Reset(file)
	for total > lines {
		chunk, err := scan.ReadSlice('\n')
		offset += int64(len(chunk))
		if err == nil {
			total--
		} else if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
	_, err := file.Seek(offset, io.SeekStart)
	return err
}

// flushing sends what is written at once.
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
