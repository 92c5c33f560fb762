package peers

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"

	"fairlead.dev/common/contract"
)

// ErrUnknownReplica says that a replica is gone, or never existed.
var ErrUnknownReplica = errors.New("the hub has no such replica now")

// forwarded is the context key that marks a request that came from another replica.
type forwarded struct{}

// Transport returns a transport for requests to another replica, upgrades included; nil if the replica is not known any
// more. A request keeps its path and its headers, which the other replica trusts: they must identify the caller, and
// contain nothing from outside. A request that was already forwarded, or was made on behalf of one, is answered with
// 508.
func (p *Peers) Transport(replica string) http.RoundTripper {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known := p.known[replica]; !known {
		return nil
	}
	return forwarding{p, replica}
}

// forwarding sends requests to one replica.
type forwarding struct {
	peers   *Peers
	replica string
}

// RoundTrip implements http.RoundTripper.
func (f forwarding) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Context().Value(forwarded{}) != nil {
		closeBody(req)
		return answer(req, http.StatusLoopDetected, "the request was forwarded by a replica of the hub already: send it again"), nil
	}
	f.peers.mu.Lock()
	other, known := f.peers.known[f.replica]
	f.peers.mu.Unlock()
	if !known {
		closeBody(req)
		return nil, fmt.Errorf("forwarding to replica %s: %w", f.replica, ErrUnknownReplica)
	}
	out := req.Clone(req.Context())
	out.URL.Scheme, out.URL.Host = "https", other.record.Address
	out.Header.Set(contract.HopHeader, contract.FirstHop)
	// With one of these headers, net/http would send a request again if its response got lost.
	out.Header.Del("Idempotency-Key")
	out.Header.Del("X-Idempotency-Key")
	through := other.transport
	if out.Header.Get("Upgrade") != "" {
		through = other.upgrades
	}
	resp, err := through.RoundTrip(out)
	if err != nil {
		return nil, fmt.Errorf("forwarding to replica %s: %w", f.replica, err)
	}
	return resp, nil
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close()
	}
}

// answer makes a response of this replica's own.
func answer(req *http.Request, status int, text string) *http.Response {
	return &http.Response{
		Status: http.StatusText(status), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req,
		Header: http.Header{"Content-Type": {"text/plain; charset=utf-8"}}, Body: io.NopCloser(bytes.NewBufferString(text)), ContentLength: int64(len(text)),
	}
}
