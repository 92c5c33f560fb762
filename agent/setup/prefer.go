package setup

import (
	"net/http"
	"net/url"
	"strings"

	"k8s.io/client-go/rest"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

// What an agent prefers of the hub's answers: of one that it needs no more than metadata of, the version, and on its watch of Works no
// manifests that it has reported upon, which specs puts back. A hub with an API server of its own does that, another one answers with all.
const (
	preferVersion   = "return=minimal"
	preferUnknown   = "observed-spec=omit"
	metadataIsAsked = "as=PartialObjectMetadata"
)

// brief returns a copy of a configuration whose answers the server is asked to keep short.
func brief(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return preferMinimal{next} })
	return config
}

type preferMinimal struct{ next http.RoundTripper }

// WrappedRoundTripper lets clients find the connections below.
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
