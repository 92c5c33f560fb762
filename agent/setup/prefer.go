package setup

import (
	"net/http"
	"net/url"
	"strings"

	"k8s.io/client-go/rest"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

// Preferences about the hub's answers: where the agent needs no more than metadata, only the version, and on the
// watch of Works no manifests that the agent has already reported on (specs restores them). The hub's embedded API
// honours this; other API servers send everything.
const (
	preferVersion   = "return=minimal"
	preferUnknown   = "observed-spec=omit"
	metadataIsAsked = "as=PartialObjectMetadata"
)

// brief returns a copy of a configuration that asks the server for short answers.
func brief(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return preferMinimal{next} })
	return config
}

type preferMinimal struct{ next http.RoundTripper }

// WrappedRoundTripper implements net.RoundTripperWrapper, by which clients find the transport below.
func (p preferMinimal) WrappedRoundTripper() http.RoundTripper { return p.next }

// RoundTrip implements http.RoundTripper.
func (p preferMinimal) RoundTrip(request *http.Request) (*http.Response, error) {
	preference := ""
	switch {
	case request.Method == http.MethodPatch && strings.Contains(request.Header.Get("Accept"), metadataIsAsked):
		preference = preferVersion
	case request.Method == http.MethodGet && isWatchOfWorks(request.URL):
		preference = preferUnknown
	default:
		return p.next.RoundTrip(request)
	}
	request = request.Clone(request.Context())
	request.Header.Set("Prefer", preference)
	return p.next.RoundTrip(request)
}

func isWatchOfWorks(u *url.URL) bool {
	return strings.HasSuffix(u.Path, "/works") && strings.HasPrefix(u.Path, "/apis/"+workv1alpha1.GroupVersion.Group+"/") && u.Query().Get("watch") == "true"
}
