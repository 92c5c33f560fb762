package compression

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// waitTimeout bounds waiting; nothing here takes that long.
const waitTimeout = time.Minute

const (
	better    = "gzip, identity;q=0.5"
	jsonType  = "application/json"
	watchPath = "/watch"
)

// serve puts our handler in front of next, over HTTP/2 or 1.1. Requests to /watch are watches.
func serve(t *testing.T, http2 bool, next http.HandlerFunc) *httptest.Server {
	t.Helper()
	ours := Handler(next)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		info := &request.RequestInfo{IsResourceRequest: true, Verb: "get"}
		if req.URL.Path == watchPath {
			info.Verb = "watch"
		}
		ctx := request.WithUser(request.WithRequestInfo(req.Context(), info), &user.DefaultInfo{Name: "edge-1"})
		ours.ServeHTTP(w, req.WithContext(ctx))
	}))
	s.EnableHTTP2 = http2
	s.Config.ErrorLog = nil
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// ask returns a response without decompressing it.
func ask(t *testing.T, s *httptest.Server, path, accept string) *http.Response {
	t.Helper()
	g := NewWithT(t)
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+path, nil)
	g.Expect(err).NotTo(HaveOccurred())
	req.Header.Set("Accept-Encoding", accept)
	resp, err := s.Client().Do(req)
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// counted counts the bytes read.
type counted struct {
	io.Reader
	n atomic.Int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// event returns a watch event about a Work of a given size, whose content is incompressible.
func event(dice *rand.Rand, kind string, size int) []byte {
	content := make([]byte, size/2)
	_, _ = dice.Read(content)
	out, err := json.Marshal(map[string]any{"type": "MODIFIED", "object": map[string]any{"kind": kind, "content": fmt.Sprintf("%x", content)}})
	if err != nil {
		panic(err)
	}
	return append(out, '\n')
}

func bothProtocols(t *testing.T, test func(t *testing.T, http2 bool)) {
	t.Helper()
	for name, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, http2)
		})
	}
}

func TestEventsComeAtOnceAndAsTheyWere(t *testing.T) {
	t.Parallel()
	bothProtocols(t, func(t *testing.T, http2 bool) {
		t.Helper()
		g := NewWithT(t)
		events := make(chan []byte)
		end := sync.OnceFunc(func() { close(events) })
		s := serve(t, http2, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", jsonType)
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			for e := range events {
				_, _ = w.Write(e)
				w.(http.Flusher).Flush()
			}
		})
		t.Cleanup(end)                       // before the server waits for its handlers
		resp := ask(t, s, watchPath, better) // the header arrives before any event
		g.Expect(resp.Header.Get("Content-Encoding")).To(Equal("gzip"))
		g.Expect(resp.Header.Get("Vary")).To(Equal("Accept-Encoding"))
		g.Expect(resp.ProtoMajor == 2).To(Equal(http2))

		dice := rand.New(rand.NewSource(1))
		raw := &counted{Reader: resp.Body}
		var from *bufio.Reader
		for i, size := range []int{10, 3000, 100, 200_000, 1000, 31_000, 33_000, 70_000, 500} {
			sent := event(dice, "Work", size)
			for echo := range 3 { // like a Work that comes back with its status
				was := raw.n.Load()
				events <- sent
				if from == nil {
					unzipped, err := gzip.NewReader(raw)
					g.Expect(err).NotTo(HaveOccurred())
					from = bufio.NewReader(unzipped)
				}
				got, err := from.ReadBytes('\n') // no later event could flush this one
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(bytes.Equal(got, sent)).To(BeTrue(), "event %d", i)
				if echo > 0 && size >= 500 && size < window {
					g.Expect(raw.n.Load()-was).To(BeNumerically("<", 50+len(sent)/50), "of %d bytes that were just sent", len(sent))
				}
			}
		}
		end()
		_, err := from.ReadByte()
		g.Expect(err).To(Equal(io.EOF), "a clean end, with the sum of all")
	})
}

func TestAWatchWithoutEventsEndsCleanly(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := serve(t, true, func(w http.ResponseWriter, _ *http.Request) { w.(http.Flusher).Flush() })
	unzipped, err := gzip.NewReader(ask(t, s, watchPath, better).Body)
	g.Expect(err).NotTo(HaveOccurred())
	got, err := io.ReadAll(unzipped)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(got).To(BeEmpty())
}

func TestSecretsAreCompressedByThemselves(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	dice := rand.New(rand.NewSource(2))
	secret, other := event(dice, "Secret", 4000), event(dice, "Work", 4000)
	sizes := func(pieces ...[]byte) int64 {
		s := serve(t, true, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", jsonType)
			for _, p := range pieces {
				_, _ = w.Write(p)
			}
		})
		n, err := io.Copy(io.Discard, ask(t, s, watchPath, better).Body)
		g.Expect(err).NotTo(HaveOccurred())
		return n
	}
	// A guess of the whole secret is not revealed by the compressed size.
	around := sizes(bytes.Replace(secret, []byte("Secret"), []byte("Wrong!"), 1), secret)
	g.Expect(around).To(BeNumerically("~", 2*sizes(secret), 100))
	g.Expect(sizes(secret, bytes.Replace(secret, []byte("Secret"), []byte("Wrong!"), 1))).To(BeNumerically("~", around, 20))
	g.Expect(sizes(other, other)).To(BeNumerically("<", sizes(other)+int64(len(other)/10)), "others are not")
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("all work and no play ", 100)
	answer := func(status int, text string, header ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(status)
			if text != "" {
				_, _ = io.WriteString(w, text)
			}
		}
	}
	for name, c := range map[string]struct {
		next   http.HandlerFunc
		accept string
		zipped bool
		want   string
		status int
	}{
		"a long one":                              {next: answer(200, long), zipped: true, want: long},
		"a refusal":                               {next: answer(409, long), zipped: true, want: long, status: 409},
		"one with its length":                     {next: answer(200, long, "Content-Length", fmt.Sprint(len(long))), zipped: true, want: long},
		"a short one":                             {next: answer(200, "ok"), want: "ok"},
		"a list with a Secret":                    {next: answer(200, `{"kind":"Secret"}`+long), want: `{"kind":"Secret"}` + long},
		"none":                                    {next: answer(204, ""), status: 204},
		"nothing at all":                          {next: func(http.ResponseWriter, *http.Request) {}},
		"one that is compressed":                  {next: answer(200, long, "Content-Encoding", "br"), want: long},
		"one that may be asked for":               {next: answer(200, long, "ETag", `"1"`), want: long},
		"one that only Go asked to compress":      {next: answer(200, long), accept: "gzip", want: long},
		"one to somebody who prefers it as it is": {next: answer(200, long), accept: "identity, gzip;q=0.5", want: long},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bothProtocols(t, func(t *testing.T, http2 bool) {
				t.Helper()
				g := NewWithT(t)
				accept := better
				if c.accept != "" {
					accept = c.accept
				}
				resp := ask(t, serve(t, http2, c.next), "/", accept)
				g.Expect(resp.StatusCode).To(Equal(max(c.status, http.StatusOK)))
				g.Expect(resp.Header.Get("Content-Encoding") == "gzip").To(Equal(c.zipped))
				var from io.Reader = resp.Body
				if c.zipped {
					var err error
					from, err = gzip.NewReader(resp.Body)
					g.Expect(err).NotTo(HaveOccurred())
				}
				got, err := io.ReadAll(from)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(string(got) == c.want).To(BeTrue(), "what came is another")
			})
		})
	}
}

func TestAPanicIsNoCleanEnd(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := serve(t, true, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("a", 1000))
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	unzipped, err := gzip.NewReader(ask(t, s, watchPath, better).Body)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = io.ReadAll(unzipped)
	g.Expect(err).To(HaveOccurred())
}

func TestUpgradedConnectionsAreLeftAlone(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := serve(t, false, func(w http.ResponseWriter, _ *http.Request) {
		conn, buffered, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		_, _ = buffered.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhello")
		_ = buffered.Flush()
	})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+watchPath, nil)
	g.Expect(err).NotTo(HaveOccurred())
	req.Header = http.Header{"Accept-Encoding": {better}, "Connection": {"Upgrade"}, "Upgrade": {"websocket"}}
	resp, err := s.Client().Do(req)
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = resp.Body.Close() }()
	g.Expect(resp.StatusCode).To(Equal(http.StatusSwitchingProtocols))
	got, err := io.ReadAll(resp.Body)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(got)).To(Equal("hello"))
}

func TestDeadlinesReachTheConnection(t *testing.T) {
	t.Parallel()
	bothProtocols(t, func(t *testing.T, http2 bool) {
		t.Helper()
		g := NewWithT(t)
		set := make(chan error, 1)
		s := serve(t, http2, func(w http.ResponseWriter, _ *http.Request) {
			set <- http.NewResponseController(w).SetWriteDeadline(time.Now().Add(waitTimeout))
		})
		ask(t, s, watchPath, better)
		g.Expect(<-set).To(Succeed())
	})
}
