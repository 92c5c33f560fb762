package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// newMembers serves all members, each below a path with its name, with the answers that an agent needs for its status.
func newMembers() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		var answer any
		switch path {
		case "readyz":
			answer = "ok"
		case "version":
			answer = map[string]string{"gitVersion": "v1.35.0"}
		case "api", "apis":
			answer = map[string]any{"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "items": []any{}}
			w.Header().Set("Content-Type", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
		case "api/v1/namespaces/kube-system":
			answer = corev1.Namespace{
				TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
				ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, UID: types.UID("member-" + name)},
			}
		default:
			http.NotFound(w, r)
			return
		}
		if w.Header().Get("Content-Type") == "" {
			w.Header().Set("Content-Type", "application/json")
		}
		_ = json.NewEncoder(w).Encode(answer) // the agent asks again
	}))
}
