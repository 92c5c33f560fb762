package reachable

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"fairlead.dev/common/contract"
)

// Hub serves requests to members. It is safe for concurrent use.
type Hub struct {
	URL string
	// where is the connected cluster; namespace and name are those of its Deployment.
	where, namespace, name string
	next                   http.Handler

	mu sync.Mutex
	// gone is closed while the member is not connected.
	gone  chan struct{}
	down  bool
	pods  []corev1.Pod
	logs  map[string][]string
	moved chan struct{}
	came  []string
}

// New serves one connected member with a Deployment, and everything else by next, which may be nil.
func New(tb testing.TB, where, namespace, name string, next http.Handler) *Hub {
	tb.Helper()
	s := &Hub{where: where, namespace: namespace, name: name, next: next, gone: make(chan struct{}), moved: make(chan struct{}), logs: map[string][]string{}}
	server := httptest.NewServer(s)
	tb.Cleanup(server.Close)
	tb.Cleanup(s.Drop)
	s.URL = server.URL
	return s
}

// InFrontOf forwards requests to a hub's API unchanged, except that those without credentials get those of the
// configuration.
func InFrontOf(tb testing.TB, cfg *rest.Config) http.Handler {
	tb.Helper()
	to, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	pass := func(cfg *rest.Config) http.Handler {
		transport, err := rest.TransportFor(cfg)
		if err != nil {
			tb.Fatal(err)
		}
		return &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }}
	}
	known, unknown := pass(cfg), pass(rest.AnonymousClientConfig(cfg))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "" {
			known.ServeHTTP(w, r)
			return
		}
		unknown.ServeHTTP(w, r)
	})
}

// Came returns the distinct credentials of requests to members, as Authorization and Impersonate-User.
func (s *Hub) Came() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.came)
}

// change changes the member's objects, and notifies watches.
func (s *Hub) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	close(s.moved)
	s.moved = make(chan struct{})
}

// Run adds a pod controlled by a ReplicaSet; that of the Deployment is called rs- plus its name.
func (s *Hub) Run(name, replicaSet string) {
	s.change(func() {
		s.pods = append(s.pods, corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name, UID: types.UID(name), OwnerReferences: []metav1.OwnerReference{
				{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: replicaSet, UID: types.UID(replicaSet), Controller: new(true)},
			}},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app"}}},
			Status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{
				{Name: "app", Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
			}},
		})
	})
}

// Stop removes a pod and ends its log.
func (s *Hub) Stop(name string) {
	s.change(func() { s.pods = slices.DeleteFunc(s.pods, func(p corev1.Pod) bool { return p.Name == name }) })
}

// Write adds a line to a pod's log.
func (s *Hub) Write(pod, text string) {
	s.change(func() {
		at := time.Date(2026, 11, 23, 8, 0, 0, len(s.logs[pod])+1, time.UTC)
		s.logs[pod] = append(s.logs[pod], at.Format(time.RFC3339Nano)+" "+text+"\n")
	})
}

// Drop closes all connections; no request is answered until Back.
func (s *Hub) Drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.down {
		close(s.gone)
	}
	s.down = true
}

// Back reconnects the member.
func (s *Hub) Back() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down, s.gone = false, make(chan struct{})
}

// ServeHTTP implements http.Handler.
func (s *Hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == contract.ConnectAPIPath+"/"+contract.LinesResource {
		s.lines(w, r)
		return
	}
	below, ours := strings.CutPrefix(r.URL.Path, contract.ConnectAPIPath+"/"+contract.ConnectClustersResource+"/")
	if !ours {
		if s.next == nil {
			http.NotFound(w, r)
			return
		}
		s.next.ServeHTTP(w, r)
		return
	}
	cluster, path, _ := strings.Cut(below, "/"+contract.ProxySubresource)
	s.serveCluster(w, r, cluster, path)
}

// serveCluster answers a request to the member of a cluster, until the member is disconnected.
func (s *Hub) serveCluster(w http.ResponseWriter, r *http.Request, cluster, path string) {
	s.mu.Lock()
	down, gone := s.down, s.gone
	if by := strings.TrimSpace(r.Header.Get("Authorization") + " " + r.Header.Get("Impersonate-User")); !slices.Contains(s.came, by) {
		s.came = append(s.came, by)
	}
	s.mu.Unlock()
	if cluster != s.where || down {
		refuse(w, http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, cluster+" is not connected: line lost 12s ago")
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	go func() {
		select {
		case <-gone:
			cancel()
		case <-ctx.Done():
		}
	}()
	s.serveMember(ctx, w, r, path)
}

// serveMember answers as the API server of the member.
func (s *Hub) serveMember(ctx context.Context, w http.ResponseWriter, r *http.Request, path string) {
	namespaced := "/namespaces/" + s.namespace + "/"
	switch {
	case path == "/apis/apps/v1"+namespaced+"deployments/"+s.name:
		d := appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{UID: types.UID(s.name)}}
		d.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": s.name}}
		answer(w, d)
	case path == "/apis/apps/v1"+namespaced+"replicasets":
		list := metav1.PartialObjectMetadataList{}
		for _, name := range []string{s.name, "other"} {
			rs := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{UID: types.UID("rs-" + name), OwnerReferences: []metav1.OwnerReference{
				{APIVersion: "apps/v1", Kind: "Deployment", UID: types.UID(name), Controller: new(true)},
			}}}
			list.Items = append(list.Items, rs)
		}
		answer(w, list)
	case path == "/api/v1"+namespaced+"pods" && r.URL.Query().Get("labelSelector") != "app="+s.name && r.URL.Query().Get("fieldSelector") == "":
		refuse(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, "the selector is missing")
	case path == "/api/v1"+namespaced+"pods" && r.URL.Query().Get("watch") == "true":
		s.watch(ctx, w)
	case path == "/api/v1"+namespaced+"pods":
		s.mu.Lock()
		defer s.mu.Unlock()
		answer(w, corev1.PodList{Items: s.pods})
	case strings.HasPrefix(path, "/api/v1"+namespaced+"pods/") && strings.Count(path, "/") == singlePod:
		s.pod(w, path[strings.LastIndex(path, "/")+1:])
	case strings.HasSuffix(path, "/log"):
		s.log(ctx, w, r, strings.Split(path, "/")[6])
	case strings.HasSuffix(path, "/exec") && r.URL.Query().Get("container") == "secret":
		refuse(w, http.StatusForbidden, metav1.StatusReasonForbidden, s.where+": its owner lets operators get, list, watch, log in "+s.namespace)
	case strings.HasSuffix(path, "/exec"):
		s.exec(w, r)
	default:
		refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound, path+" not found")
	}
}

// lines serves the status of lines: of the requested cluster, or of the connected one and edge-2.
func (s *Hub) lines(w http.ResponseWriter, r *http.Request) {
	names := []string{s.where, "edge-2"}
	if one, ok := strings.CutPrefix(r.URL.Query().Get("fieldSelector"), "metadata.name="); ok {
		names = []string{one}
	}
	s.mu.Lock()
	down := s.down
	s.mu.Unlock()
	var items []any
	for _, name := range names {
		const at = "2026-11-23T08:00:00Z"
		items = append(items, map[string]any{
			"metadata": map[string]any{"name": name}, "status": map[string]any{"up": !down && name == s.where, "since": at, "lost": at, "operators": "read"},
		})
	}
	answer(w, map[string]any{"items": items})
}

// singlePod is the number of slashes in the path of a pod.
const singlePod = 6

// pod serves one pod.
func (s *Hub) pod(w http.ResponseWriter, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.pods {
		if s.pods[i].Name == name {
			answer(w, s.pods[i])
			return
		}
	}
	refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound, fmt.Sprintf("pods %q not found", name))
}

func answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value) //nolint:errchkjson // whoever asked may be gone
}

func refuse(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(metav1.Status{ //nolint:errchkjson // whoever asked may be gone
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message,
	})
}
