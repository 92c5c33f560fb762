package setup

import (
	"net/http"
	"strings"

	"k8s.io/client-go/rest"
)

// brief returns a copy of a configuration whose answers the server is asked to keep short where a client wants to know no more of what
// it wrote than its version. A hub with an API server of its own does, another one answers with all metadata.
func brief(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return briefly{next} })
	return config
}

type briefly struct{ next http.RoundTripper }

// WrappedRoundTripper lets clients find the connections below.
func (b briefly) WrappedRoundTripper() http.RoundTripper { return b.next }

// RoundTrip implements http.RoundTripper.
func (b briefly) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodPatch || !strings.Contains(request.Header.Get("Accept"), "as=PartialObjectMetadata") {
		return b.next.RoundTrip(request)
	}
	request = request.Clone(request.Context())
	request.Header.Set("Prefer", "return=minimal")
	return b.next.RoundTrip(request)
}
