package stagetest

import (
	"net/http"
	"slices"
	"strings"
	"sync"

	"k8s.io/client-go/rest"
)

// Requests are those that were counted. They are safe for use by many goroutines.
type Requests struct {
	mu    sync.Mutex
	reads int
	wrote []string
}

// Count returns a configuration whose requests are counted: how often what a path ends with is read, and all that writes.
func Count(cfg *rest.Config, path string) (*rest.Config, *Requests) {
	out := &Requests{}
	return Intercept(cfg, func(r *http.Request) (*http.Response, error) {
		out.mu.Lock()
		defer out.mu.Unlock()
		switch {
		case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, path):
			out.reads++
		case r.Method != http.MethodGet:
			out.wrote = append(out.wrote, r.Method+" "+r.URL.Path)
		}
		return nil, nil
	}), out
}

// Reads is how often it was read.
func (r *Requests) Reads() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.reads
}

// Wrote are the requests that write, as method and path.
func (r *Requests) Wrote() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.wrote)
}
