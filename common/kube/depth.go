package kube

import (
	"io"
	"net/http"
	"strings"

	"k8s.io/client-go/rest"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/jsondepth"
)

// BoundDepth returns a config whose clients read Works, bindings and policies only to a depth of jsondepth.MaxAnswer:
// these contain fields of arbitrary content that members and tenants wrote. Otherwise one object that a decoder
// refuses would stop every list and watch of its kind.
func BoundDepth(cfg *rest.Config) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return depthBound{next} })
	return cfg
}

type depthBound struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (d depthBound) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := d.next.RoundTrip(r)
	if err != nil || !holdsAnything(r.URL.Path) || !strings.HasPrefix(response.Header.Get("Content-Type"), "application/json") {
		return response, err
	}
	response.Body = boundBody{Reader: jsondepth.Limit(response.Body, jsondepth.MaxAnswer), Closer: response.Body}
	response.ContentLength = -1
	response.Header.Del("Content-Length")
	return response, nil
}

// WrappedRoundTripper gives client-go access to the wrapped transport.
func (d depthBound) WrappedRoundTripper() http.RoundTripper { return d.next }

type boundBody struct {
	io.Reader
	io.Closer
}

func holdsAnything(path string) bool {
	return strings.Contains(path, "/apis/"+workv1alpha1.GroupVersion.Group+"/") ||
		strings.Contains(path, "/apis/"+policyv1alpha1.GroupVersion.Group+"/")
}
