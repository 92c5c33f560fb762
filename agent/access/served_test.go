package access

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/client-go/rest"
	testingclock "k8s.io/utils/clock/testing"

	"fairlead.dev/common/contract"
)

const waitTimeout = time.Minute

// member is an API that knows the owner's rules and gives tokens, and answers all else as a test says.
type member struct {
	*httptest.Server
	mu    sync.Mutex
	rules map[string]string
	word  string       // the owner's last word; empty if there is no Secret
	given atomic.Int32 // tokens
}

func (m *member) set(rules map[string]string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rules = rules
}

func newMember(t *testing.T, serve http.HandlerFunc) *member {
	t.Helper()
	m := &member{rules: map[string]string{"operators": "group:ops", "may": "exec,write"}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/namespaces/karmada-system/configmaps/fairlead-connect", func(w http.ResponseWriter, r *http.Request) {
		m.mu.Lock()
		defer m.mu.Unlock()
		if r.Header.Get("Authorization") != "Bearer agent" || m.rules == nil {
			refuse(w, http.StatusNotFound, "there is none")
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"data": m.rules})
	})
	mux.HandleFunc("GET /api/v1/namespaces/karmada-system/secrets/fairlead-agent", func(w http.ResponseWriter, r *http.Request) {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.word == "" {
			refuse(w, http.StatusNotFound, "there is none")
			return
		}
		if !strings.HasPrefix(r.Header.Get("Accept"), asMetadata) {
			m.word = "the data is no business of this"
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"metadata": map[string]any{"annotations": map[string]string{contract.LastWordAnnotation: m.word}}})
	})
	mux.HandleFunc("POST /api/v1/namespaces/karmada-system/serviceaccounts/fairlead-connect/token", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"status":{"token":"connect-%d","expirationTimestamp":%q}}`, m.given.Add(1), time.Now().Add(time.Hour).Format(time.RFC3339))
	})
	mux.HandleFunc("/", serve)
	m.Server = httptest.NewServer(mux)
	t.Cleanup(m.Close)
	return m
}

// served is a handler behind an HTTP server, which calls it as the line does.
type served struct {
	*Handler
	url, dir string
	clock    *testingclock.FakeClock
}

func newServed(t *testing.T, m *member) *served {
	t.Helper()
	g := NewWithT(t)
	s := &served{dir: t.TempDir(), clock: testingclock.NewFakeClock(time.Now())}
	var err error
	s.Handler, err = New(t.Context(), Options{Cluster: "edge-1", Member: &rest.Config{Host: m.URL, BearerToken: "agent"}, StateDir: s.dir, Clock: s.clock})
	g.Expect(err).NotTo(HaveOccurred())
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// ask sends a request of alice of group ops, and returns status and body.
func (s *served) ask(t *testing.T, method, path string, header http.Header) (int, string, http.Header) {
	t.Helper()
	g := NewWithT(t)
	request, err := http.NewRequestWithContext(t.Context(), method, s.url+"/proxy"+path, nil)
	g.Expect(err).NotTo(HaveOccurred())
	request.Header = http.Header{"Fairlead-User": {"alice"}, "Fairlead-Group": {"ops", "dev"}, "Fairlead-Request": {"r1"}}
	maps.Copy(request.Header, header)
	answer, err := http.DefaultTransport.RoundTrip(request)
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	g.Expect(err).NotTo(HaveOccurred())
	return answer.StatusCode, string(body), answer.Header
}

// records returns the lines of one of the agent's records.
func (s *served) records(name string) []string {
	raw, _ := os.ReadFile(filepath.Join(s.dir, "access", name+".jsonl"))
	return strings.FieldsFunc(string(raw), func(r rune) bool { return r == '\n' })
}
