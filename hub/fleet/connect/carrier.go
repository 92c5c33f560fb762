package connect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/common/line"
	"fairlead.dev/common/line/headers"
)

// Causes for which a request was ended, or its response withheld.
var (
	errSlow      = errors.New("the answer did not begin in time")
	errRightGone = errors.New("the right was taken away")
	errRedirect  = errors.New("the answer is a redirection")
	errUnknownTo = errors.New("the member does not know its agent")
)

// requestTransport carries one request to a member. It ends the request if the body does not arrive or the response
// does not start in time, and passes on only the head and the body of the response.
type requestTransport struct {
	server  *Server
	passage proxyRequest
}

// RoundTrip implements http.RoundTripper.
func (c *requestTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	m := c.server.metrics
	sent, answered := make(chan struct{}), make(chan struct{})
	defer close(answered)
	if req.Body == nil || req.Body == http.NoBody {
		close(sent)
	} else {
		req.Body = &counted{&notifyingBody{ReadCloser: req.Body, end: sync.OnceFunc(func() { close(sent) })}, m.bytes.WithLabelValues(toMember)}
	}
	go c.enforceDeadlines(req.Context(), sent, answered, timeoutOf(req, c.passage))
	resp, err := c.passage.through.RoundTrip(req.WithContext(valuelessContext{req.Context()}))
	if err != nil {
		return nil, err
	}
	out := &http.Response{
		Status: resp.Status, StatusCode: resp.StatusCode, Proto: resp.Proto, ProtoMajor: 1, ProtoMinor: 1, Header: resp.Header,
		ContentLength: resp.ContentLength, Uncompressed: resp.Uncompressed, Request: req,
	}
	from := counted{resp.Body, m.bytes.WithLabelValues(fromMember)}
	if stream, ok := resp.Body.(io.ReadWriteCloser); ok && resp.StatusCode == http.StatusSwitchingProtocols {
		upgraded := &countedStream{counted: from, stream: stream, written: m.bytes.WithLabelValues(toMember), stall: stallDetector{stopped: make(chan struct{})}}
		go upgraded.stall.watch(c.server.Clock, func() { c.server.endStalled(c.passage, stream) })
		out.Body = upgraded
	} else {
		out.Body = &from
	}
	return out, nil
}

// timeoutOf returns how long the response to a request may take to start.
func timeoutOf(r *http.Request, p proxyRequest) time.Duration {
	if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/log") {
		return logTimeout
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead && p.upgrade == "" {
		return writeTimeout
	}
	return readTimeout
}

// valuelessContext is a context without values: an httptrace in them would pass on informational responses (1xx) of the
// member, with their headers.
type valuelessContext struct{ context.Context } //nolint:containedctx // It is itself a context.

// Value implements context.Context.
func (valuelessContext) Value(any) any { return nil }

// notifyingBody is a body that calls end when it was read to its end or closed.
type notifyingBody struct {
	io.ReadCloser
	end func()
}

// Read implements io.Reader.
func (e *notifyingBody) Read(p []byte) (int, error) {
	n, err := e.ReadCloser.Read(p)
	if err != nil {
		e.end()
	}
	return n, err
}

// Close implements io.Closer.
func (e *notifyingBody) Close() error {
	e.end()
	return e.ReadCloser.Close()
}

// checkAnswer rejects responses that are meant for the hub itself, and removes unsafe headers from the others.
func (s *Server) checkAnswer(resp *http.Response, p proxyRequest) error {
	switch {
	case resp.StatusCode == http.StatusUnauthorized:
		return errUnknownTo
	case resp.StatusCode >= 300 && resp.StatusCode < 400 && resp.StatusCode != http.StatusNotModified:
		return errRedirect
	}
	// Another replica has already cleaned the response, and its Retry-After is genuine.
	headers.ToOperator(resp.Header, p.upgrade != "" && resp.StatusCode == http.StatusSwitchingProtocols)
	return nil
}

// failed responds in place of a member that did not. Once the request has been sent, the response has no Retry-After:
// clients would obey it even for requests that write.
func (s *Server) failed(w http.ResponseWriter, r *http.Request, p proxyRequest, err error) {
	cluster := p.target.Cluster
	if cause := context.Cause(r.Context()); cause != nil && (errors.Is(cause, errSlow) || errors.Is(cause, errRightGone) || errors.Is(cause, errUnsent)) {
		err = cause
	}
	no := refusal{cluster: cluster}
	switch {
	case errors.Is(err, errSlow):
		no.reason, no.message = metav1.StatusReasonTimeout, fmt.Sprintf("the API of %s did not answer in %s", cluster, timeoutOf(r, p))
	case errors.Is(err, errUnsent):
		no.reason = reasonUnsent
		no.message = fmt.Sprintf("the body of the request to %s did not arrive completely within %.0fs: send less at a time, or over a faster network", cluster, sendTimeout.Seconds())
	case errors.Is(err, errRightGone):
		no.reason, no.message = metav1.StatusReasonForbidden, notAllowed(p.caller.User, verbOf(r.Method), cluster)
	case errors.Is(err, errRedirect):
		no.reason, no.message = reasonBadGateway, fmt.Sprintf("%s answered with a redirection, which the hub does not follow: request its target itself", cluster)
	case errors.Is(err, errUnknownTo):
		no.reason, no.message = reasonBadGateway, fmt.Sprintf("the API of %s does not know its agent: see the log of the agent there", cluster)
	case errors.Is(err, line.ErrLeaving):
		no.reason, no.retry = metav1.StatusReasonServiceUnavailable, tooMany
		no.message = fmt.Sprintf("%s is not connected: its agent is opening a new line", cluster)
	case errors.Is(err, line.ErrFull):
		no.reason, no.retry = metav1.StatusReasonTooManyRequests, tooMany
		no.message = fmt.Sprintf("the line of %s carries as many requests as it can: wait until one ends", cluster)
	case p.line != nil && isDone(p.line.Client):
		no.reason, no.message = metav1.StatusReasonServiceUnavailable, fmt.Sprintf("%s is not connected: the line was lost during the request; check whether the request took effect before you repeat it", cluster)
	default:
		no.reason, no.message = reasonBadGateway, fmt.Sprintf("%s gave no valid answer: %v", cluster, err)
	}
	s.refuse(w, r, no)
}

func isDone(c interface{ Done() <-chan struct{} }) bool {
	select {
	case <-c.Done():
		return true
	default:
		return false
	}
}
