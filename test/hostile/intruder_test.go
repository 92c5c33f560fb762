package hostile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientdiscovery "k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/kube"
)

// intruder sends requests that must be refused, and counts them.
type intruder struct {
	config   *rest.Config
	http     *http.Client
	attempts int
}

func newIntruder(t *testing.T, config *rest.Config) *intruder {
	t.Helper()
	config = rest.CopyConfig(config)
	config.QPS = -1
	if len(config.CertData) == 0 {
		// The API closes an HTTP/2 connection after an unauthenticated request.
		config.NextProtos = []string{"http/1.1"}
	}
	c, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	return &intruder{config: config, http: c}
}

func (i *intruder) client(t *testing.T) client.Client {
	t.Helper()
	scheme, err := kube.NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(i.config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// do sends a request and returns the status of the response.
func (i *intruder) do(t *testing.T, method, path, body string, header map[string]string) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	code, err := i.send(ctx, method, path, body, header)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return code
}

// send sends a request and returns the status of the response.
func (i *intruder) send(ctx context.Context, method, path, body string, header map[string]string) (int, error) {
	request, err := http.NewRequestWithContext(ctx, method, i.config.Host+path, strings.NewReader(body))
	if err != nil {
		return 0, fmt.Errorf("making a request: %w", err)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for key, value := range header {
		request.Header.Set(key, value)
	}
	response, err := i.http.Do(request)
	if err != nil {
		return 0, fmt.Errorf("asking the hub: %w", err)
	}
	if response.StatusCode >= http.StatusBadRequest {
		// A connection is reused once its last response was read; an allowed request may be a watch, which does not
		// end.
		_, err = io.Copy(io.Discard, response.Body)
	}
	return response.StatusCode, errors.Join(err, response.Body.Close())
}

// refused sends a request that must be forbidden, or answered with 401 for unauthenticated users. Other acceptable
// statuses are passed in.
func (i *intruder) refused(t *testing.T, method, path, body string, header map[string]string, orelse ...int) {
	t.Helper()
	i.attempts++
	if code := i.do(t, method, path, body, header); code != http.StatusForbidden && code != http.StatusUnauthorized && !slices.Contains(orelse, code) {
		t.Errorf("%s %s with %.200q %v was answered with %d", method, path, body, header, code)
	}
}

// row is one attack, or one allowed request.
type row struct {
	method, path, body string
	// content is the media type of the body; JSON if empty, and a merge patch for PATCH.
	content string
}

func (r row) header() map[string]string {
	content := r.content
	if content == "" && r.method == http.MethodPatch {
		content = "application/merge-patch+json"
	}
	if content == "" {
		return nil
	}
	return map[string]string{"Content-Type": content}
}

// refusedAll sends requests that must be refused. The keys say why.
func (i *intruder) refusedAll(t *testing.T, rows map[string]row) {
	t.Helper()
	for why, r := range rows {
		t.Run(why, func(t *testing.T) { i.refused(t, r.method, r.path, r.body, r.header()) })
	}
}

// allowedAll sends requests that must succeed.
func (i *intruder) allowedAll(t *testing.T, rows map[string]row) {
	t.Helper()
	for what, r := range rows {
		t.Run(what, func(t *testing.T) {
			if code := i.do(t, r.method, r.path, r.body, r.header()); code >= http.StatusMultipleChoices {
				t.Errorf("%s %s with %q was answered with %d", r.method, r.path, r.body, code)
			}
		})
	}
}

// attempt is the HTTP form of a verb.
type attempt struct {
	verb, method string
	named        bool
	query        string
}

func verbs() []attempt {
	return []attempt{
		{verb: "get", method: http.MethodGet, named: true},
		{verb: "list", method: http.MethodGet},
		{verb: "watch", method: http.MethodGet, query: "?watch=true"},
		{verb: "create", method: http.MethodPost},
		{verb: "update", method: http.MethodPut, named: true},
		{verb: "patch", method: http.MethodPatch, named: true},
		{verb: "delete", method: http.MethodDelete, named: true},
		{verb: "deletecollection", method: http.MethodDelete},
	}
}

// tryAll tries every verb, except allowed ones, on every resource of every version of the API, in the relevant
// namespaces and with existing names.
func (i *intruder) tryAll(t *testing.T, api *rest.Config, own string, namespaces []string, inOwnNamespace, everywhere map[string]string) {
	t.Helper()
	// Discover resources and names as administrator, because not everybody may list them.
	discovered, err := clientdiscovery.NewDiscoveryClientForConfig(api)
	if err != nil {
		t.Fatal(err)
	}
	_, lists, err := discovered.ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, list := range lists {
		root := "/apis/" + list.GroupVersion
		group, _, grouped := strings.Cut(list.GroupVersion, "/")
		if !grouped {
			root, group = "/api/"+list.GroupVersion, ""
		}
		for _, resource := range list.APIResources {
			count++
			id := group + "/" + resource.Name
			for _, namespace := range namespaces {
				if !resource.Namespaced && namespace != "" {
					continue
				}
				allowed := everywhere[id]
				if namespace == own {
					allowed += " " + inOwnNamespace[id]
				}
				i.tryResource(t, root, list.GroupVersion, resource, namespace, strings.Fields(allowed))
			}
		}
	}
	if count < 50 {
		t.Errorf("only %d resources were discovered", count)
	}
}

// tryResource tries all verbs on one resource in one place. An empty namespace means all namespaces; cluster-scoped
// resources have no other place.
func (i *intruder) tryResource(t *testing.T, root, version string, resource metav1.APIResource, namespace string, allowed []string) {
	t.Helper()
	name, sub, isSub := strings.Cut(resource.Name, "/")
	for _, a := range verbs() {
		all := resource.Namespaced && namespace == ""
		switch {
		case slices.Contains(allowed, a.verb):
			continue
		case isSub && (a.verb == "list" || a.verb == "watch" || a.verb == "deletecollection"):
			continue // it does not exist
		case all && a.verb != "list" && a.verb != "watch":
			continue // nor does this
		}
		path := root
		if namespace != "" {
			path += "/namespaces/" + namespace
		}
		path += "/" + name
		const object = "edge-2"
		target := path
		if a.named || isSub {
			target += "/" + object
		}
		if isSub {
			target += "/" + sub
		}
		body := ""
		if a.method != http.MethodGet && a.method != http.MethodDelete {
			body = fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q}}`, version, resource.Kind, object)
		}
		i.refused(t, a.method, target+a.query, body, row{method: a.method}.header())
	}
}
