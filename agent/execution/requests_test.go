package execution_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
)

// requests counts the stage's requests to the member by verb, without watches.
type requests struct {
	mu    sync.Mutex
	lines []string
	// before is called before a request is sent; nil does nothing.
	before func(line string)
}

// meddle calls before ahead of each request from now on.
func (r *requests) meddle(before func(line string)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.before = before
}

func (r *requests) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		if req.URL.Query().Get("watch") == "" {
			line := req.Method + " " + req.URL.Path
			if req.Method == http.MethodDelete && req.Body != nil {
				body, err := io.ReadAll(req.Body)
				if err != nil {
					return nil, err
				}
				line += " " + string(body)
				req.Body = io.NopCloser(bytes.NewReader(body))
			}
			r.mu.Lock()
			r.lines = append(r.lines, line)
			before := r.before
			r.mu.Unlock()
			if before != nil {
				before(line)
			}
		}
		return next.RoundTrip(req)
	})
}

// about returns the requests whose path contains a text.
func (r *requests) about(text string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, line := range r.lines {
		if strings.Contains(line, text) {
			out = append(out, line)
		}
	}
	return out
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
