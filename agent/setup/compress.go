package setup

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"k8s.io/client-go/rest"
)

// likesGzip says that compressed answers are preferred over uncompressed ones. Go's own header only says that gzip is
// acceptable, upon which an API server compresses nothing but long lists, and never a watch. The hub's embedded API
// honours the preference; other API servers treat this value like Go's.
const likesGzip = "gzip, identity;q=0.5"

// Compression says when to ask the hub for compressed answers.
type Compression string

// Values of Compression.
const (
	CompressNever  Compression = "false"
	CompressAlways Compression = "true"
	// CompressSlow asks while the network to the hub is slow. A running watch keeps what it was started with, for
	// some minutes.
	CompressSlow Compression = "auto"
)

// String implements pflag.Value.
func (c *Compression) String() string { return string(*c) }

// Type implements pflag.Value.
func (*Compression) Type() string { return "auto|true|false" }

// Set implements pflag.Value.
func (c *Compression) Set(value string) error {
	switch wanted := Compression(value); wanted {
	case CompressNever, CompressAlways, CompressSlow:
		*c = wanted
		return nil
	}
	return fmt.Errorf("it is %s, %s or %s", CompressSlow, CompressAlways, CompressNever)
}

// compressing returns a copy of a configuration that asks the server for compressed answers as wanted.
func (c Compression) compressing(config *rest.Config, times *answerTimes) *rest.Config {
	wanted := func() bool { return true }
	switch c {
	case CompressAlways:
	case CompressSlow:
		wanted = times.isSlow
	default:
		return config
	}
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return compressed{next, wanted} })
	return config
}

// compressed asks for compressed answers while they are wanted, and decompresses them.
type compressed struct {
	next   http.RoundTripper
	wanted func() bool
}

// WrappedRoundTripper implements net.RoundTripperWrapper, by which clients find the transport below.
func (c compressed) WrappedRoundTripper() http.RoundTripper { return c.next }

// RoundTrip implements http.RoundTripper.
func (c compressed) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Header.Get("Accept-Encoding") != "" || request.Header.Get("Range") != "" || request.Header.Get("Upgrade") != "" || request.Method == http.MethodHead || !c.wanted() {
		return c.next.RoundTrip(request) // a caller that sets the header itself handles the answer
	}
	request = request.Clone(request.Context())
	request.Header.Set("Accept-Encoding", likesGzip)
	response, err := c.next.RoundTrip(request)
	if err != nil || response.Header.Get("Content-Encoding") != "gzip" {
		return response, err
	}
	response.Header.Del("Content-Encoding")
	response.Header.Del("Content-Length")
	response.ContentLength, response.Uncompressed = -1, true
	response.Body = &unzipped{Closer: response.Body, body: response.Body}
	return response, nil
}

// readers pools the gzip readers of answers that were read completely: each takes 40 kB.
var readers sync.Pool //nolint:gochecknoglobals // A pool is of use only if shared.

// unzipped decompresses the body of an answer. Only one goroutine reads it, but any may close it.
type unzipped struct {
	io.Closer

	body   io.Reader
	reader *gzip.Reader
	err    error
}

// Read implements io.Reader. It creates the gzip reader on the first call, since the first byte of a watch comes with
// the first event.
func (u *unzipped) Read(p []byte) (int, error) {
	if u.err != nil {
		return 0, u.err
	}
	if u.reader == nil {
		u.reader, u.err = newReader(u.body)
		if u.err != nil {
			return 0, u.err
		}
	}
	n, err := u.reader.Read(p)
	if u.err = err; errors.Is(err, io.EOF) {
		readers.Put(u.reader)
		u.reader = nil
	}
	return n, err
}

func newReader(body io.Reader) (*gzip.Reader, error) {
	if r, ok := readers.Get().(*gzip.Reader); ok {
		return r, r.Reset(body)
	}
	return gzip.NewReader(body)
}
