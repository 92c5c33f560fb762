package stagetest

import (
	"net/http"
	"slices"
	"strings"
	"sync"

	"k8s.io/client-go/rest"
)

// Requests are counted requests. They are safe for concurrent use.
type Requests struct {
	mu    sync.Mutex
	reads int
	wrote []string
}

// Count returns a configuration that counts requests: reads of paths that end with path, and all writes.
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

// Reads returns the number of counted reads.
func (r *Requests) Reads() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.reads
}

// Wrote returns the writes, each as method and path.
func (r *Requests) Wrote() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.wrote)
}
