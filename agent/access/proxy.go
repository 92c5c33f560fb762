package access

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	ctrl "sigs.k8s.io/controller-runtime"

	"fairlead.dev/agent/access/rules"
	"fairlead.dev/common/line/headers"
	"fairlead.dev/common/logging"
)

const (
	// headerTimeout is how long the member's API may take to start its answer.
	headerTimeout = 10 * time.Second
	// writeTimeout is the same for changes, which wait for webhooks, each up to 30 seconds.
	writeTimeout = 35 * time.Second
	// maxAnswerHeaders bounds the headers of an answer, in bytes: they may come from a pod.
	maxAnswerHeaders = 64 << 10
	// idleConnections is how many connections to the member are kept for idleTimeout.
	idleConnections = 10
	idleTimeout     = 90 * time.Second
)

// passing is the state of one proxied request.
type passing struct {
	request rules.Request
	as      rules.Operator
	token   string
	path    string // percent-encoded
	timeout time.Duration
	refused bool // the member rejected the token
	managed bool // the object that is written to is managed by the hub
}

type passingKey struct{}

func passingOf(ctx context.Context) *passing {
	p, _ := ctx.Value(passingKey{}).(*passing)
	return p
}

// proxy forwards requests to the member's API.
type proxy struct {
	cluster string
	base    *url.URL
	forward httputil.ReverseProxy
	// reading, writing and following reuse connections; streaming opens one per stream. A request on a new connection
	// is never sent twice.
	reading, writing, following, streaming http.RoundTripper
}

func newProxy(ctx context.Context, cluster string, config *rest.Config) (*proxy, error) {
	base, err := serverOf(config)
	if err != nil {
		return nil, err
	}
	// Nothing that goes to the member for operators carries a credential of the agent.
	tlsConfig, err := rest.TLSConfigFor(rest.AnonymousClientConfig(config))
	if err != nil {
		return nil, fmt.Errorf("reading how to trust the member: %w", err)
	}
	p := &proxy{
		cluster: cluster, base: base,
		reading: transport(config, tlsConfig, headerTimeout), writing: transport(config, tlsConfig, writeTimeout), following: transport(config, tlsConfig, 0),
	}
	streaming := transport(config, tlsConfig, headerTimeout)
	streaming.DisableKeepAlives = true
	p.streaming = streaming
	p.forward = httputil.ReverseProxy{
		Rewrite: p.rewrite, Transport: p, FlushInterval: -1, BufferPool: &buffers{}, ModifyResponse: p.answered, ErrorHandler: p.failed,
		ErrorLog: logging.Standard(ctrl.LoggerFrom(ctx).V(1)),
	}
	return p, nil
}

// transport speaks HTTP/1.1 only: no other version can upgrade, and with it a slow reader stalls nobody else.
func transport(config *rest.Config, tlsConfig *tls.Config, answerTimeout time.Duration) *http.Transport {
	if tlsConfig != nil {
		tlsConfig = tlsConfig.Clone()
		tlsConfig.NextProtos = []string{"http/1.1"}
	}
	dial := config.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: headerTimeout, KeepAlive: 30 * time.Second}).DialContext
	}
	through := config.Proxy
	if through == nil {
		through = utilnet.NewProxierWithNoProxyCIDR(http.ProxyFromEnvironment)
	}
	return &http.Transport{
		Proxy: through, DialContext: dial, TLSClientConfig: tlsConfig, TLSHandshakeTimeout: headerTimeout, ResponseHeaderTimeout: answerTimeout,
		MaxResponseHeaderBytes: maxAnswerHeaders, DisableCompression: true, MaxIdleConns: idleConnections, MaxIdleConnsPerHost: idleConnections, IdleConnTimeout: idleTimeout,
		TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{}, ReadBufferSize: copyBuffer / 4, WriteBufferSize: copyBuffer / 4,
	}
}

// serve forwards a request.
func (p *proxy) serve(w http.ResponseWriter, r *http.Request, of *passing) {
	p.forward.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), passingKey{}, of)))
}

// rewrite turns a request of the hub into one of the operator. The path is forwarded exactly as received.
func (p *proxy) rewrite(r *httputil.ProxyRequest) {
	of := passingOf(r.In.Context())
	target := *p.base
	target.RawPath = p.base.EscapedPath() + of.path
	target.Path, _ = url.PathUnescape(target.RawPath) // Parse has decoded it before, so there is no error
	target.RawQuery = r.In.URL.RawQuery
	r.Out.URL, r.Out.Host, r.Out.RequestURI, r.Out.Trailer = &target, "", "", nil
	headers.ToMember(r.Out.Header, of.as.User, of.as.Groups)
	r.Out.Header.Set("Authorization", "Bearer "+of.token)
}

// RoundTrip implements http.RoundTripper with the transport that fits the request. None of them follows redirects.
func (p *proxy) RoundTrip(r *http.Request) (*http.Response, error) {
	of := passingOf(r.Context())
	switch {
	case of.request.Upgrade:
		of.timeout = headerTimeout
		return p.streaming.RoundTrip(r)
	case of.request.Follows():
		of.timeout = headerTimeout // of the connection only
		return p.following.RoundTrip(r)
	case of.request.Reads():
		of.timeout = headerTimeout
		return p.reading.RoundTrip(r)
	default:
		of.timeout = writeTimeout
		of.managed = isUndone(of.request, r.URL.RawQuery) && p.isManaged(r, of)
		return p.writing.RoundTrip(r)
	}
}

var (
	errTokenRefused = errors.New("the member does not accept the token of its ServiceAccount fairlead-connect")
	errRedirect     = errors.New("the member sent a redirect, which is not followed")
)

// answered processes an answer before it goes back.
func (p *proxy) answered(answer *http.Response) error {
	headers.FromMember(answer.Header)
	of := passingOf(answer.Request.Context())
	switch code := answer.StatusCode; {
	case code == http.StatusUnauthorized:
		of.refused = true
		return errTokenRefused
	case code >= http.StatusMultipleChoices && code < http.StatusBadRequest && code != http.StatusNotModified:
		return errRedirect
	case isSuccess(answer) && (of.managed || isUndone(of.request, answer.Request.URL.RawQuery) && isMadeManaged(answer, of.request)):
		p.warn(answer, of.request)
	}
	return nil
}

// failed answers a request that got no answer from the member.
func (p *proxy) failed(w http.ResponseWriter, r *http.Request, err error) {
	ctx := r.Context()
	cause := context.Cause(ctx)
	timeout, isNet := errors.AsType[net.Error](err)
	switch {
	case errors.Is(cause, errTakenBack), errors.Is(cause, errUnknown):
		refuse(w, http.StatusForbidden, p.cluster+": "+cause.Error())
	case errors.Is(err, errTokenRefused), errors.Is(err, errRedirect):
		refuse(w, http.StatusBadGateway, p.cluster+": "+err.Error())
	case isNet && timeout.Timeout():
		refuse(w, http.StatusGatewayTimeout, fmt.Sprintf("the API of %s did not answer in %.0fs", p.cluster, passingOf(ctx).timeout.Seconds()))
	default:
		ctrl.LoggerFrom(ctx).V(1).Info("The member did not answer an operator", "reason", err.Error())
		refuse(w, http.StatusGatewayTimeout, "the API of "+p.cluster+" did not answer: its agent cannot reach it, or the connection broke")
	}
}

// buffers is a pool of the buffers with which answers are copied.
type buffers struct{ pool sync.Pool }

// Get implements httputil.BufferPool.
func (b *buffers) Get() []byte {
	if buffer, ok := b.pool.Get().(*[]byte); ok {
		return *buffer
	}
	return make([]byte, copyBuffer)
}

// Put implements httputil.BufferPool.
func (b *buffers) Put(buffer []byte) { b.pool.Put(&buffer) }
