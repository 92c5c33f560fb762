// Package requests counts the requests of clients in a test or a bench, by the verbs and resources in the metrics of
// API servers, and the bytes of their bodies.
package requests

import (
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
)

// Counts are the requests of clients to API servers up to some time.
type Counts struct {
	// Requests by verb and resource, such as "PATCH works/status". Rejected requests are also counted as, for example,
	// "429 leases", and conflicts as "409 works".
	Requests map[string]int64
	// BodiesSent and BodiesReceived are bytes of bodies by verb, without headers; the body of a watch are its events.
	BodiesSent, BodiesReceived map[string]int64
	// Refused counts requests rejected with 429, Conflicts with 409.
	Refused, Conflicts int64
}

// Since returns the difference to an earlier time.
func (c Counts) Since(before Counts) Counts {
	return Counts{
		Requests: Grown(c.Requests, before.Requests), BodiesSent: Grown(c.BodiesSent, before.BodiesSent), BodiesReceived: Grown(c.BodiesReceived, before.BodiesReceived),
		Refused: c.Refused - before.Refused, Conflicts: c.Conflicts - before.Conflicts,
	}
}

// Grown returns the increases of counts, without those that have not grown.
func Grown[N int64 | float64](now, before map[string]N) map[string]N {
	out := map[string]N{}
	for key, n := range now {
		if n -= before[key]; n > 0 {
			out[key] = n
		}
	}
	return out
}

// Counter counts the requests of clients in this process. The zero value is ready for concurrent use.
type Counter struct {
	mu  sync.Mutex
	sum Counts
}

// Counts returns the counts so far.
func (c *Counter) Counts() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.sum
	out.Requests = maps.Clone(c.sum.Requests)
	out.BodiesSent, out.BodiesReceived = maps.Clone(c.sum.BodiesSent), maps.Clone(c.sum.BodiesReceived)
	return out
}

// Wrap returns a transport that counts requests.
func (c *Counter) Wrap(next http.RoundTripper) http.RoundTripper {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sum.Requests == nil {
		c.sum.Requests, c.sum.BodiesSent, c.sum.BodiesReceived = map[string]int64{}, map[string]int64{}, map[string]int64{}
	}
	return &transport{next: next, of: c}
}

type transport struct {
	next http.RoundTripper
	of   *Counter
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	verb, resource := asked(request)
	response, err := t.next.RoundTrip(request)
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	sum := &t.of.sum
	sum.Requests[verb+" "+resource]++
	sum.BodiesSent[bodyVerb(verb)] += max(request.ContentLength, 0)
	if err != nil {
		return response, err //nolint:wrapcheck // It only counts.
	}
	switch response.StatusCode {
	case http.StatusTooManyRequests:
		sum.Refused++
		sum.Requests["429 "+resource]++
	case http.StatusConflict:
		sum.Conflicts++
		sum.Requests["409 "+resource]++
	case http.StatusSwitchingProtocols:
		return response, nil // its body is the connection
	}
	response.Body = &countedBody{ReadCloser: response.Body, of: t.of, verb: bodyVerb(verb)}
	return response, nil
}

// countedBody counts the bytes read of a response.
type countedBody struct {
	io.ReadCloser

	of   *Counter
	verb string
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.of.mu.Lock()
	b.of.sum.BodiesReceived[b.verb] += int64(n)
	b.of.mu.Unlock()
	return n, err //nolint:wrapcheck // It only counts.
}

// asked returns the verb and resource of a request as in the metrics of API servers.
func asked(r *http.Request) (verb, resource string) {
	resource, named := about(r.URL.Path)
	switch {
	case r.Method == http.MethodGet && r.URL.Query().Has("watch"):
		return "WATCH", resource
	case r.Method == http.MethodGet && !named:
		return "LIST", resource
	case r.Method == http.MethodDelete && !named:
		return "DELETECOLLECTION", resource
	case r.Method == http.MethodPatch && strings.HasPrefix(r.Header.Get("Content-Type"), "application/apply-patch"):
		return "APPLY", resource
	default:
		return r.Method, resource
	}
}

// bodyVerb is the verb under which API servers count the bytes of request bodies.
func bodyVerb(verb string) string {
	if verb == "APPLY" {
		return http.MethodPatch
	}
	return verb
}

// about returns the resource of an API path, such as works/status, and whether it names one object. A path without a
// resource, such as /readyz, is returned itself.
func about(path string) (resource string, named bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case parts[0] == "api" && len(parts) > 2:
		parts = parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		parts = parts[3:]
	default:
		return path, true
	}
	if parts[0] == "namespaces" && len(parts) > 2 && parts[2] != "status" && parts[2] != "finalize" {
		parts = parts[2:]
	}
	if len(parts) > 2 {
		return parts[0] + "/" + parts[2], true
	}
	return parts[0], len(parts) > 1
}
