package hijack

import (
	"bufio"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"io"
	"math/rand"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/util/proxy"
	"k8s.io/client-go/transport"
)

// waitTimeout bounds waiting; nothing here takes that long.
const waitTimeout = time.Minute

// front is a server that forwards upgrades to another server, as the aggregator does.
type front struct {
	*httptest.Server

	g *WithT
	// returned receives when the outermost handler has returned.
	returned chan struct{}
	// gone receives when the connection to the other server has ended.
	gone chan struct{}
}

// newFront has the other server echo upgraded connections, and refuse upgrades at /refuse.
func newFront(t *testing.T, lasts bool) *front {
	t.Helper()
	f := &front{g: NewWithT(t), returned: make(chan struct{}, 10), gone: make(chan struct{}, 10)}
	back := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/refuse" {
			http.Error(w, "not now", http.StatusConflict)
			return
		}
		conn, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer func() { f.gone <- struct{}{} }()
		defer conn.Close()
		_, _ = buffered.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		_ = buffered.Flush()
		if r.URL.Path == "/bye" {
			return
		}
		_, _ = io.Copy(conn, buffered)
	}))
	t.Cleanup(back.Close)
	location, err := url.Parse(back.URL)
	f.g.Expect(err).NotTo(HaveOccurred())
	through, err := transport.New(&transport.Config{TLS: transport.TLSConfig{Insecure: true}})
	f.g.Expect(err).NotTo(HaveOccurred())
	forward := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/panic" {
			panic(http.ErrAbortHandler)
		}
		to := *location
		to.Path = r.URL.Path
		proxy.NewUpgradeAwareHandler(&to, through, false, true, failed{}).ServeHTTP(w, r)
	})
	h := Handler(forward, func(*http.Request) bool { return lasts })
	f.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { f.returned <- struct{}{} }()
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		h.ServeHTTP(w, r.WithContext(ctx))
	}))
	t.Cleanup(f.Server.Close)
	return f
}

type failed struct{}

func (failed) Error(w http.ResponseWriter, _ *http.Request, err error) {
	http.Error(w, err.Error(), http.StatusServiceUnavailable)
}

// dial requests an upgrade.
func (f *front) dial(t *testing.T, path string) (*tls.Conn, *bufio.Reader, *http.Response) {
	t.Helper()
	conn, err := tls.Dial("tcp", f.Listener.Addr().String(), &tls.Config{InsecureSkipVerify: true})
	f.g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = conn.Close() })
	f.g.Expect(conn.SetDeadline(time.Now().Add(waitTimeout))).To(Succeed())
	_, err = io.WriteString(conn, "POST "+path+" HTTP/1.1\r\nHost: front\r\nConnection: Upgrade\r\nUpgrade: echo\r\nContent-Length: 0\r\n\r\n")
	f.g.Expect(err).NotTo(HaveOccurred())
	reader := bufio.NewReader(conn)
	resp, err := http.ReadResponse(reader, nil)
	if err != nil {
		return conn, reader, nil
	}
	return conn, reader, resp
}

func TestRequestsOfLinesEndWhenTheyAreOpen(t *testing.T) {
	t.Parallel()
	for name, lasts := range map[string]bool{"a line": true, "another upgrade": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFront(t, lasts)
			conn, reader, resp := f.dial(t, "/")
			f.g.Expect(resp.StatusCode).To(Equal(http.StatusSwitchingProtocols))
			if lasts {
				f.g.Eventually(f.returned, waitTimeout).Should(Receive())
			}
			const size = 20 << 20
			sent, got := sha256.New(), sha256.New()
			go func() {
				_, _ = io.Copy(io.MultiWriter(conn, sent), io.LimitReader(rand.New(rand.NewSource(1)), size))
			}()
			_, err := io.CopyN(got, reader, size)
			f.g.Expect(err).NotTo(HaveOccurred())
			f.g.Expect(got.Sum(nil)).To(Equal(sent.Sum(nil)))
			if !lasts {
				f.g.Expect(f.returned).NotTo(Receive(), "the request of any other upgrade lasts as long as its connection")
			}
			f.g.Expect(conn.Close()).To(Succeed())
			f.g.Eventually(f.gone, waitTimeout).Should(Receive(), "the other server is told that the client has gone")

			_, reader, resp = f.dial(t, "/bye")
			f.g.Expect(resp.StatusCode).To(Equal(http.StatusSwitchingProtocols))
			_, err = reader.ReadByte()
			f.g.Expect(err).To(MatchError(io.EOF), "the client is told that the other server has gone")
		})
	}
}

func TestARefusedUpgradeIsAnswered(t *testing.T) {
	t.Parallel()
	f := newFront(t, true)
	_, _, resp := f.dial(t, "/refuse")
	text, err := io.ReadAll(resp.Body)
	f.g.Expect(err).NotTo(HaveOccurred())
	f.g.Expect(resp.StatusCode).To(Equal(http.StatusConflict))
	f.g.Expect(string(text)).To(Equal("not now\n"))
	f.g.Eventually(f.returned, waitTimeout).Should(Receive())

	_, _, resp = f.dial(t, "/panic")
	f.g.Expect(resp).To(BeNil(), "the server closes the connection, as for any handler that panics")
	f.g.Eventually(f.returned, waitTimeout).Should(Receive())

	ordinary, err := f.Client().Post(f.URL+"/refuse", "text/plain", strings.NewReader("body"))
	f.g.Expect(err).NotTo(HaveOccurred())
	f.g.Expect(ordinary.StatusCode).To(Equal(http.StatusServiceUnavailable), "the forwarder wants upgrades only")
	f.g.Expect(ordinary.Body.Close()).To(Succeed())
}

func TestNothingOfARequestIsKeptOnceItsConnectionIsTakenOver(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	type key struct{}
	taken, end := make(chan context.Context, 1), make(chan struct{})
	t.Cleanup(func() { close(end) })
	h := Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Context().Value(key{}) != "audit" {
			return
		}
		c, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer c.Close()
		if _, err := w.Write(nil); !errors.Is(err, http.ErrHijacked) {
			return
		}
		w.WriteHeader(http.StatusOK)
		w.Header().Set("A", "b")
		taken <- r.Context()
		<-end
	}), func(*http.Request) bool { return true })
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "audit"))
	req := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", nil)
	req.Header.Set("Upgrade", "echo")
	client, server := net.Pipe()
	defer client.Close()
	h.ServeHTTP(&pipe{ResponseWriter: httptest.NewRecorder(), conn: server}, req)
	kept := <-taken
	g.Expect(kept.Value(key{})).To(BeNil())
	g.Expect(kept.Err()).NotTo(HaveOccurred())
	cancel()
	g.Expect(kept.Done()).To(BeClosed())
	g.Expect(kept.Err()).To(MatchError(context.Canceled))
}

type pipe struct {
	http.ResponseWriter
	conn net.Conn
}

func (p *pipe) Hijack() (net.Conn, *bufio.ReadWriter, error) { return p.conn, nil, nil }
