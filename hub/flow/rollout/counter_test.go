package rollout

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// counter counts the requests of a hub.
type counter struct {
	// namespaces are that of its application and those of its clusters.
	namespaces []string
	statuses   atomic.Int64

	mu    sync.Mutex
	asked []string
	// refuses is the rollout whose status is refused without a reason, and refused how often it was.
	refuses string
	refused int
}

// refuse has the status of a rollout be refused from now on, as when it is larger than what the database takes.
func (c *counter) refuse(rollout string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refuses = rollout
}

// refusals is how often it was.
func (c *counter) refusals() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.refused
}

// answer is what is answered to the write of a status that is refused; nil if it is not.
func (c *counter) answer(req *http.Request) *http.Response {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refuses == "" || !strings.HasSuffix(req.URL.Path, "/stagedrollouts/"+c.refuses+"/status") {
		return nil
	}
	c.refused++
	const body = `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"etcdserver: request is too large","code":500}`
	return &http.Response{
		Status: "500 Internal Server Error", StatusCode: http.StatusInternalServerError, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), Request: req,
	}
}

// requests are those about its application that are no informer's, by method and path.
func (c *counter) requests() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.asked)
}

// note counts a request. An informer that lost its watch lists anew, at any time.
func (c *counter) note(req *http.Request) (*http.Response, error) {
	_, about, _ := strings.Cut(req.URL.Path, "/namespaces/")
	namespace, about, _ := strings.Cut(about, "/")
	isInformers := req.Method == http.MethodGet && (about == "resourcebindings" || about == "stagedrollouts")
	if slices.Contains(c.namespaces, namespace) && !isInformers {
		c.mu.Lock()
		c.asked = append(c.asked, req.Method+" "+about)
		c.mu.Unlock()
	}
	if req.Method == http.MethodPatch && strings.Contains(req.URL.Path, "stagedrollouts/") && strings.HasSuffix(req.URL.Path, "/status") {
		c.statuses.Add(1)
		return c.answer(req), nil
	}
	return nil, nil
}
