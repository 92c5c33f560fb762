package access

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
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

	"fairlead.dev/common/line"
)

const patience = time.Minute

// member is an API that knows the owner's rules and gives tokens, and answers all else as a test says.
type member struct {
	*httptest.Server
	mu    sync.Mutex
	rules map[string]string
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
	mux.HandleFunc("POST /api/v1/namespaces/karmada-system/serviceaccounts/fairlead-connect/token", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"status":{"token":"connect-%d","expirationTimestamp":%q}}`, m.given.Add(1), time.Now().Add(time.Hour).Format(time.RFC3339))
	})
	mux.HandleFunc("/", serve)
	m.Server = httptest.NewServer(mux)
	t.Cleanup(m.Close)
	return m
}

// served is a handler behind a server, as the line has it.
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

// records returns what is recorded, line by line.
func (s *served) records(name string) []string {
	raw, _ := os.ReadFile(filepath.Join(s.dir, "access", name+".jsonl"))
	return strings.FieldsFunc(string(raw), func(r rune) bool { return r == '\n' })
}

func TestOperatorsReachTheMemberAsThemselves(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var seen *http.Request
	m := newMember(t, func(w http.ResponseWriter, r *http.Request) {
		seen = r
		w.Header().Set("Fairlead-Status", "101")
		_, _ = io.WriteString(w, "pods")
	})
	s := newServed(t, m)
	code, body, header := s.ask(t, http.MethodGet, "/api/v1/namespaces/shop/pods/a%20b?limit=1", http.Header{
		"Authorization": {"Bearer hub"}, "Impersonate-User": {"admin"}, "Connection": {"Impersonate-User"}, "X-Remote-User": {"admin"}, "Audit-Id": {"a1"},
	})
	g.Expect(code).To(Equal(http.StatusOK))
	g.Expect(body).To(Equal("pods"))
	g.Expect(header).NotTo(HaveKey("Fairlead-Status"))
	g.Expect(seen.RequestURI).To(Equal("/api/v1/namespaces/shop/pods/a%20b?limit=1"))
	g.Expect(seen.Header["Authorization"]).To(Equal([]string{"Bearer connect-1"}))
	g.Expect(seen.Header["Impersonate-User"]).To(Equal([]string{"fairlead:alice"}))
	g.Expect(seen.Header["Impersonate-Group"]).To(Equal([]string{"fairlead:ops"}))
	g.Expect(seen.Header["Audit-Id"]).To(Equal([]string{"a1"}))
	g.Expect(seen.Header).NotTo(HaveKey("X-Remote-User"))
	g.Eventually(func() []string { return s.records("reads") }).WithTimeout(patience).Should(ConsistOf(And(
		ContainSubstring(`"user":"alice"`), ContainSubstring(`"as":"fairlead:alice"`), ContainSubstring(`"status":200`),
		ContainSubstring(`"request":"r1"`), ContainSubstring(`"auditID":"a1"`), ContainSubstring(`"object":"pods shop/a b"`), ContainSubstring(`"bytesFromMember":4`))))

	for path, want := range map[string]int{
		"/api/v1/namespaces/shop/../x/pods": http.StatusBadRequest, "/api/v1%2fpods": http.StatusBadRequest, "/metrics": http.StatusForbidden,
		"/api/v1/namespaces/shop/secrets": http.StatusForbidden,
	} {
		seen = nil
		code, body, _ = s.ask(t, http.MethodGet, path, nil)
		g.Expect(code).To(Equal(want), path)
		g.Expect(body).To(ContainSubstring(`"kind":"Status"`))
		g.Expect(seen).To(BeNil())
	}
	for name, header := range map[string]http.Header{"nobody": {"Fairlead-User": nil}, "two": {"Fairlead-User": {"alice", "admin"}}, "empty": {"Fairlead-User": {""}}} {
		code, _, _ = s.ask(t, http.MethodGet, "/api/v1/pods", header)
		g.Expect(code).To(Equal(http.StatusForbidden), name)
	}
	for _, path := range []string{"/api", "/apis"} { // kubectl asks there first, and shows a reason in plain text only
		code, body, header = s.ask(t, http.MethodGet, path, http.Header{"Fairlead-User": {"bob"}, "Fairlead-Group": nil})
		g.Expect(code).To(Equal(http.StatusForbidden))
		g.Expect(header.Get("Content-Type")).To(HavePrefix("text/plain"))
		g.Expect(body).To(HavePrefix("edge-1: its owner lets in group:ops, and bob is not among them"))
	}
	code, body, _ = s.ask(t, http.MethodGet, "/api/v1/namespaces/shop/pods/a/exec", http.Header{"Connection": {"Upgrade"}, "Upgrade": {"h2c"}})
	g.Expect(code).To(Equal(http.StatusBadRequest), body)
	g.Expect(seen).To(BeNil())
	g.Expect(s.Summary(t.Context())).To(Equal("read, exec, write for group:ops"))
}

func TestWhatTheMemberAnswersIsNotBelievedBlindly(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	asked := atomic.Int32{}
	m := newMember(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		switch r.URL.Path {
		case "/api/v1/nodes":
			http.Redirect(w, r, "http://169.254.169.254/", http.StatusFound)
		case "/api/v1/pods":
			w.WriteHeader(http.StatusUnauthorized)
		default:
			<-r.Context().Done()
		}
	})
	s := newServed(t, m)
	code, body, header := s.ask(t, http.MethodGet, "/api/v1/nodes", nil)
	g.Expect(code).To(Equal(http.StatusBadGateway), body)
	g.Expect(header.Get("Location")).To(BeEmpty())
	for range 2 { // a token that is not accepted is asked for anew
		code, body, _ = s.ask(t, http.MethodGet, "/api/v1/pods", nil)
		g.Expect(code).To(Equal(http.StatusBadGateway), body)
	}
	g.Expect(m.given.Load()).To(BeEquivalentTo(2))

	s.proxy.reading = transport(&rest.Config{}, nil, 50*time.Millisecond)
	asked.Store(0)
	code, body, _ = s.ask(t, http.MethodGet, "/api/v1/services", nil)
	g.Expect(code).To(Equal(http.StatusGatewayTimeout))
	g.Expect(body).To(ContainSubstring("the API of edge-1 did not answer in 10s"))
	g.Expect(asked.Load()).To(BeEquivalentTo(1), "nothing is tried twice")
}

func TestThereAreLimits(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	m := newMember(t, func(http.ResponseWriter, *http.Request) {})
	s := newServed(t, m)
	var held []*stream
	for range maxRequests {
		one := &stream{}
		g.Expect(s.streams.add(one)).To(BeEmpty())
		held = append(held, one)
	}
	code, body, header := s.ask(t, http.MethodGet, "/api/v1/pods", nil)
	g.Expect(code).To(Equal(http.StatusTooManyRequests))
	g.Expect(body).To(ContainSubstring("100 requests"))
	g.Expect(header.Get("Retry-After")).To(Equal("1"))
	s.streams.remove(held[0])
	code, _, _ = s.ask(t, http.MethodGet, "/api/v1/pods", nil)
	g.Expect(code).To(Equal(http.StatusOK))
}

// echo is a member whose exec answers what it is sent, until it is told that there is no more.
func echo(w http.ResponseWriter, r *http.Request) {
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	_, _ = fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\nhello ", r.Header.Get("Upgrade"))
	_, _ = io.Copy(conn, buffered)
	_, _ = io.WriteString(conn, " bye")
}

// exec opens a stream and returns the operator's end of it.
func (s *served) exec(t *testing.T) (*net.TCPConn, *bufio.Reader) {
	t.Helper()
	g := NewWithT(t)
	var dialer net.Dialer
	conn, err := dialer.DialContext(t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = conn.Close() })
	g.Expect(conn.SetDeadline(time.Now().Add(patience))).To(Succeed())
	// What the client says at once, before it has heard that the protocol changes, comes through as well.
	_, err = io.WriteString(conn, "POST /proxy/api/v1/namespaces/shop/pods/web-0/exec?command=sh HTTP/1.1\r\nHost: a\r\nFairlead-User: alice\r\nFairlead-Group: ops\r\n"+
		"Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\nearly ")
	g.Expect(err).NotTo(HaveOccurred())
	reader := bufio.NewReader(conn)
	answer, err := http.ReadResponse(reader, nil) //nolint:bodyclose // What upgrades ends with its connection.
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(answer.StatusCode).To(Equal(http.StatusSwitchingProtocols))
	return conn.(*net.TCPConn), reader //nolint:errcheck,forcetypeassert // it was dialled so
}

func TestStreamsAreBytesBothWays(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := newServed(t, newMember(t, echo))
	conn, reader := s.exec(t)
	_, err := io.WriteString(conn, "late")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(conn.CloseWrite()).To(Succeed()) // the other half goes on
	g.Expect(io.ReadAll(reader)).To(BeEquivalentTo("hello early late bye"))
	g.Eventually(func() []string { return s.records("changes") }).WithTimeout(patience).Should(HaveExactElements(
		And(ContainSubstring(`"phase":"begun"`), ContainSubstring(`"object":"pods/exec shop/web-0"`), ContainSubstring(`"query":"command=sh"`)),
		And(ContainSubstring(`"phase":"ended"`), ContainSubstring(`"status":101`), ContainSubstring(`"bytesToMember":10`), ContainSubstring(`"bytesFromMember":20`)),
	))
}

func TestStreamsComeThroughALine(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := newServed(t, newMember(t, echo))
	hub, agent := net.Pipe()
	ctx, leave := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- line.Serve(ctx, agent, s.Handler, line.ServerOptions{Grace: 10 * time.Millisecond}) }()
	client, err := line.NewClient(hub, line.ClientOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() {
		leave()
		g.Expect(client.Close()).To(Succeed())
		<-ended //nolint:errcheck // How it ended is not what this is about.
	})
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://edge-1/proxy/api/v1/namespaces/shop/pods/web-0/exec?command=sh", http.NoBody)
	g.Expect(err).NotTo(HaveOccurred())
	request.Header = http.Header{"Fairlead-User": {"alice"}, "Fairlead-Group": {"ops"}, "Connection": {"Upgrade"}, "Upgrade": {"websocket"}}
	answer, err := client.RoundTrip(request)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(answer.StatusCode).To(Equal(http.StatusSwitchingProtocols))
	stream, ok := answer.Body.(interface {
		io.ReadWriteCloser
		CloseWrite() error
	})
	g.Expect(ok).To(BeTrue())
	defer func() { _ = stream.Close() }()
	_, err = io.WriteString(stream, "late")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(stream.CloseWrite()).To(Succeed())
	g.Expect(io.ReadAll(stream)).To(BeEquivalentTo("hello late bye"))

	request.Header = http.Header{"Fairlead-User": {"alice"}, "Fairlead-Group": {"dev"}, "Connection": {"Upgrade"}, "Upgrade": {"websocket"}}
	answer, err = client.RoundTrip(request)
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = answer.Body.Close() }()
	g.Expect(answer.StatusCode).To(Equal(http.StatusForbidden))
}

func TestAStreamEndsWhenTheOwnerTakesItBack(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	m := newMember(t, echo)
	s := newServed(t, m)
	_, reader := s.exec(t)
	s.look(t.Context())
	g.Expect(s.streams.any()).To(BeTrue(), "the rules are the same")
	m.set(map[string]string{"operators": "group:ops"})
	s.clock.Step(lookEvery)
	s.look(t.Context())
	_, err := io.ReadAll(reader)
	g.Expect(err).To(Or(BeNil(), MatchError(ContainSubstring("reset"))), "it did not wait for its deadline")
	g.Eventually(func() []string { return s.records("changes") }).WithTimeout(patience).Should(ContainElement(ContainSubstring("the owner does not allow it any more")))
}

func TestWhatCannotBeRecordedIsNotDone(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	m := newMember(t, func(http.ResponseWriter, *http.Request) {})
	s := newServed(t, m)
	g.Expect(os.WriteFile(filepath.Join(s.dir, "access"), nil, 0o600)).To(Succeed()) // where the directory would be
	for method, want := range map[string]int{http.MethodGet: http.StatusOK, http.MethodDelete: http.StatusServiceUnavailable} {
		code, body, _ := s.ask(t, method, "/api/v1/namespaces/shop/pods/a", nil)
		g.Expect(code).To(Equal(want), body)
	}
	code, body, _ := s.ask(t, http.MethodGet, "/api/v1/namespaces/shop/pods/a/exec", http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}})
	g.Expect(code).To(Equal(http.StatusServiceUnavailable))
	g.Expect(body).To(ContainSubstring("cannot be recorded"))
}

func TestRecordsAreBounded(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := &record{dir: t.TempDir(), name: "reads", limit: 1000}
	for i := range 200 {
		g.Expect(r.write(entry{Object: fmt.Sprint("pods ", i)}, false)).To(Succeed())
	}
	g.Expect(r.stop()).To(Succeed())
	files, err := os.ReadDir(r.dir)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(files).To(HaveLen(kept()))
	for _, file := range files {
		info, err := file.Info()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(info.Size()).To(BeNumerically("<=", 1000))
	}
	newest, err := os.ReadFile(r.path(0))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(newest)).To(ContainSubstring(`"pods 199"`))
}

func kept() int { return 1 + keptRecords }

func TestRulesThatCannotBeReadHoldForAWhile(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	clk := testingclock.NewFakeClock(time.Now())
	m := newMember(t, http.NotFound)
	member, err := newMemberAPI(&rest.Config{Host: m.URL, BearerToken: "agent"})
	g.Expect(err).NotTo(HaveOccurred())
	s := &settings{read: member.settings, clock: clk}
	_, err = s.current(t.Context(), 0)
	g.Expect(err).NotTo(HaveOccurred())
	m.Close()
	clk.Step(staleFor)
	now, err := s.current(t.Context(), 0)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(now.IsOff()).To(BeFalse())
	clk.Step(2 * tryAgain)
	_, err = s.current(t.Context(), 0)
	g.Expect(err).To(HaveOccurred())
}
