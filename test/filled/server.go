package filled

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// server answers lists. Lists of kinds without objects are empty.
type server struct {
	mu sync.Mutex
	// items are the encoded objects, by the path of their resource below the version.
	items map[string][]json.RawMessage
	kinds map[string]schema.GroupVersionKind
}

// serve starts a server of objects, which stops at the end of the test.
func serve(tb testing.TB, scheme *runtime.Scheme, mapper meta.RESTMapper, objects []client.Object) (*rest.Config, *server) {
	tb.Helper()
	s := &server{items: map[string][]json.RawMessage{}, kinds: map[string]schema.GroupVersionKind{}}
	for _, obj := range objects {
		gvk, err := apiutil.GVKForObject(obj, scheme)
		if err != nil {
			tb.Fatal(err)
		}
		mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		if err != nil {
			tb.Fatal(err)
		}
		raw, err := json.Marshal(obj)
		if err != nil {
			tb.Fatal(err)
		}
		s.items[mapping.Resource.Resource] = append(s.items[mapping.Resource.Resource], raw)
	}
	for gvk := range scheme.AllKnownTypes() {
		plural, _ := meta.UnsafeGuessKindToResource(gvk)
		s.kinds[plural.Resource] = gvk
	}
	api := httptest.NewServer(s)
	tb.Cleanup(api.CloseClientConnections)
	return &rest.Config{Host: api.URL, QPS: -1}, s
}

// forget drops the objects, so that only the cache keeps them in memory.
func (s *server) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.items = nil
}

// ServeHTTP implements http.Handler.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	resource := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	switch {
	case r.Method != http.MethodGet:
		http.Error(w, "nothing is written here", http.StatusServiceUnavailable)
	case r.URL.Query().Has("sendInitialEvents"):
		http.Error(w, "lists only", http.StatusUnprocessableEntity)
	case r.URL.Query().Has("watch"):
		w.Header().Set("Content-Type", runtime.ContentTypeJSON)
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	default:
		s.list(w, resource, strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadataList"))
	}
}

func (s *server) list(w http.ResponseWriter, resource string, metadata bool) {
	gvk := s.kinds[resource]
	apiVersion, kind := gvk.GroupVersion().String(), gvk.Kind+"List"
	if metadata {
		apiVersion, kind = "meta.k8s.io/v1", "PartialObjectMetadataList"
	}
	s.mu.Lock()
	items := s.items[resource]
	s.mu.Unlock()
	w.Header().Set("Content-Type", runtime.ContentTypeJSON)
	_, _ = fmt.Fprintf(w, `{"apiVersion":%q,"kind":%q,"metadata":{"resourceVersion":"1"},"items":[`, apiVersion, kind)
	for i, raw := range items {
		if i > 0 {
			_, _ = w.Write([]byte(","))
		}
		_, _ = w.Write(raw)
	}
	_, _ = w.Write([]byte("]}"))
}
