package rules_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"fairlead.dev/agent/access/rules"
)

func TestRequestsAreUnderstoodAsTheAPIServerDoes(t *testing.T) {
	t.Parallel()
	for request, want := range map[string]rules.Request{
		"GET /version":              {Verb: "get", Path: "/version"},
		"GET /api/v1":               {Verb: "get", Path: "/api/v1"},
		"GET /apis/apps/v1":         {Verb: "get", Path: "/apis/apps/v1"},
		"GET /api/v1/pods":          {Verb: "list", Version: "v1", Resource: "pods"},
		"GET /api/v1/pods?watch":    {Verb: "watch", Version: "v1", Resource: "pods"},
		"GET /api/v1/pods?watch=0":  {Verb: "list", Version: "v1", Resource: "pods"},
		"GET /api/v1/watch/pods":    {Verb: "watch", Version: "v1", Resource: "pods"},
		"GET /api/v1/namespaces/a":  {Verb: "get", Version: "v1", Namespace: "a", Resource: "namespaces", Name: "a"},
		"HEAD /api/v1/nodes/n":      {Verb: "get", Version: "v1", Resource: "nodes", Name: "n"},
		"DELETE /api/v1/nodes":      {Verb: "deletecollection", Version: "v1", Resource: "nodes"},
		"POST /api/v1/namespaces":   {Verb: "create", Version: "v1", Resource: "namespaces"},
		"GET /api/v1/pods/":         {Verb: "list", Version: "v1", Resource: "pods"},
		"PUT /api/v1/nodes/n/proxy": {Verb: "update", Version: "v1", Resource: "nodes", Name: "n", Subresource: "proxy"},
		"PUT /api/v1/namespaces/a/finalize": {
			Verb: "update", Version: "v1", Namespace: "a", Resource: "namespaces", Name: "a", Subresource: "finalize",
		},
		"PATCH /apis/apps/v1/namespaces/a/deployments/web/scale": {
			Verb: "patch", Group: "apps", Version: "v1", Namespace: "a", Resource: "deployments", Name: "web", Subresource: "scale",
		},
		"GET /apis/rbac.authorization.k8s.io/v1/clusterroles/system:x%20y": {
			Verb: "get", Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles", Name: "system:x y",
		},
	} {
		t.Run(request, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			method, target := cut(request, " ")
			path, query := cut(target, "?")
			got, err := rules.Parse(method, path, query, false)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(Equal(want))
		})
	}
}

func TestAmbiguousRequestsAreRefused(t *testing.T) {
	t.Parallel()
	for _, request := range []string{
		"GET api/v1/pods", "GET //api/v1/pods", "GET /api/v1//pods", "GET /api/v1/pods//",
		"GET /api/v1/namespaces/shop/../kube-system/secrets", "GET /api/v1/namespaces/shop/./pods", "GET /api/v1/namespaces/shop/%2e%2e/x/pods",
		"GET /api/v1/namespaces/shop%2Fpods", "GET /api/v1/namespaces/shop%2fpods", "GET /api/v1/namespaces/shop%252fpods", "GET /api/v1/pods%00",
		"GET /api/v1/pods%0a", "GET /api/v1/pods%", "GET /api/v1/pods%zz", `GET /api/v1\pods`, "GET /api/v1%5cpods", "GET /api/v1/p%ff",
		"GET /api/v1/proxy/nodes/n", "GET /api/v1/watch", "DELETE /api/v1/watch/pods", "GET /api/v1/pods?a;b", "GET /api/v1/pods?%zz",
		"CONNECT /api/v1/pods", "OPTIONS /api/v1/pods", "get /api/v1/pods", " /api/v1/pods",
	} {
		t.Run(request, func(t *testing.T) {
			t.Parallel()
			method, target := cut(request, " ")
			path, query := cut(target, "?")
			_, err := rules.Parse(method, path, query, false)
			NewWithT(t).Expect(err).To(HaveOccurred())
		})
	}
}
