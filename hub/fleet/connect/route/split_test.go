package route

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"
)

func TestSplit(t *testing.T) {
	const root = "/apis/connect.fairlead.dev/v1alpha1"
	for path, want := range map[string]Target{
		"/apis":                                 {Kind: Groups},
		"/apis/connect.fairlead.dev":            {Kind: Group},
		root:                                    {Kind: Version},
		"/openapi/v3":                           {Kind: OpenAPI, Rest: "/openapi/v3"},
		"/openapi/v3" + root:                    {Kind: OpenAPI, Rest: "/openapi/v3" + root},
		root + "/lines":                         {Kind: Lines},
		root + "/lines/":                        {Kind: Lines},
		root + "/lines/edge-1":                  {Kind: Line, Cluster: "edge-1"},
		root + "/lines/edge-1/attach":           {Kind: Attach, Cluster: "edge-1"},
		root + "/clusters/edge-1/proxy":         {Kind: Proxy, Cluster: "edge-1", Rest: "/"},
		root + "/clusters/edge-1/proxy/":        {Kind: Proxy, Cluster: "edge-1", Rest: "/"},
		root + "/clusters/edge-1/proxy/api/v1/": {Kind: Proxy, Cluster: "edge-1", Rest: "/api/v1/"},
		root + "/clusters/e/proxy/a%2Fb//c%20d": {Kind: Proxy, Cluster: "e", Rest: "/a%2Fb//c%20d"},
		root + "/clusters/e/proxy/a..b/...":     {Kind: Proxy, Cluster: "e", Rest: "/a..b/..."},
	} {
		t.Run(path, func(t *testing.T) {
			g := NewWithT(t)
			got, err := Split(path)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(Equal(want))
		})
	}
	for _, path := range []string{
		"", "/", "/api", "/apis/apps", "/apis/connect.fairlead.dev/v1", root + "/clusters", root + "/clusters/edge-1", root + "/clusters/edge-1/status",
		root + "/lines/edge-1/proxy", root + "/lines/edge-1/attach/x", root + "/pods", root + "/clusters/edge-1/proxyx", root + "x",
		"/openapi/v2x", root + "/../../apps",
	} {
		t.Run("unknown "+path, func(t *testing.T) {
			_, err := Split(path)
			if !errors.Is(err, ErrUnknown) {
				t.Errorf("%v, which is no ErrUnknown", err)
			}
		})
	}
	for _, path := range []string{
		root + "/clusters/*/proxy", root + "/clusters/%2a/proxy/api", root + "/clusters/../proxy", root + "/clusters/edge%2F1/proxy", root + "/clusters//proxy",
		root + "/clusters/Edge/proxy", root + "/lines/%zz", root + "/lines/../attach",
		root + "/clusters/e/proxy/..", root + "/clusters/e/proxy/api/../../x", root + "/clusters/e/proxy/%2e%2e/x", root + "/clusters/e/proxy/a%2F..%2Fb",
		root + "/clusters/e/proxy/./x", root + "/clusters/e/proxy/%2E", root + "/clusters/e/proxy/a%00", root + "/clusters/e/proxy/a%0d%0ab", root + "/clusters/e/proxy/%g0",
	} {
		t.Run("refused "+path, func(t *testing.T) {
			got, err := Split(path)
			if err == nil || errors.Is(err, ErrUnknown) {
				t.Errorf("%v and %v, which is no refusal", got, err)
			}
		})
	}
}
