package access

import (
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/client-go/rest"
)

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
	g.Eventually(func() []string { return s.records("reads") }).WithTimeout(waitTimeout).Should(ConsistOf(And(
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

func TestAnswersOfTheMemberAreBounded(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	m := newMember(t, func(w http.ResponseWriter, r *http.Request) {
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
	for range 2 { // a rejected token is requested anew
		code, body, _ = s.ask(t, http.MethodGet, "/api/v1/pods", nil)
		g.Expect(code).To(Equal(http.StatusBadGateway), body)
	}
	g.Expect(m.given.Load()).To(BeEquivalentTo(2))

	// Requests are counted where they leave: the member may not have read one yet when the proxy gives it up.
	sent, impatient := atomic.Int32{}, transport(&rest.Config{}, nil, 50*time.Millisecond)
	s.proxy.reading = roundTripper(func(r *http.Request) (*http.Response, error) {
		sent.Add(1)
		return impatient.RoundTrip(r)
	})
	code, body, _ = s.ask(t, http.MethodGet, "/api/v1/services", nil)
	g.Expect(code).To(Equal(http.StatusGatewayTimeout))
	g.Expect(body).To(ContainSubstring("the API of edge-1 did not answer in 10s"))
	g.Expect(sent.Load()).To(BeEquivalentTo(1), "nothing is tried twice")
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
