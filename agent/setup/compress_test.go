package setup

import (
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/client-go/rest"
)

// askCompressed asks a server through our transport, and returns the header and the body of its answer.
func askCompressed(t *testing.T, serve http.HandlerFunc, header http.Header) (http.Header, io.Reader) {
	t.Helper()
	g := NewWithT(t)
	server := httptest.NewServer(serve)
	t.Cleanup(server.Close)
	client, err := rest.HTTPClientFor(CompressAlways.compressing(&rest.Config{Host: server.URL}, nil))
	g.Expect(err).NotTo(HaveOccurred())
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
	g.Expect(err).NotTo(HaveOccurred())
	request.Header = header
	response, err := client.Do(request)
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = response.Body.Close() })
	return response.Header, response.Body
}

func TestEventsOfACompressedWatchAreReadAsTheyCome(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	events := make(chan string)
	got, body := askCompressed(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("X-Accepted", r.Header.Get("Accept-Encoding"))
		_ = http.NewResponseController(w).Flush()
		zipped := gzip.NewWriter(w)
		for e := range events {
			_, _ = io.WriteString(zipped, e)
			_ = zipped.Flush()
			_ = http.NewResponseController(w).Flush()
		}
		_ = zipped.Close()
	}, http.Header{}) // that comes before the first event
	g.Expect(got.Get("X-Accepted")).To(Equal(likesGzip))
	g.Expect(got).NotTo(HaveKey("Content-Encoding"))
	for _, e := range []string{"one", "two", "three"} {
		events <- e
		got := make([]byte, len(e))
		_, err := io.ReadFull(body, got)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(got)).To(Equal(e))
	}
	close(events)
	for range 2 {
		_, err := body.Read(make([]byte, 1))
		g.Expect(errors.Is(err, io.EOF)).To(BeTrue())
	}
}

func TestACompressedAnswerThatIsCutIsAnError(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for _, cut := range []bool{true, false} { // the second may have the reader of the first
		_, body := askCompressed(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			zipped := gzip.NewWriter(w)
			_, _ = io.WriteString(zipped, "all work and no play")
			_ = zipped.Flush()
			if !cut {
				_ = zipped.Close()
			}
		}, http.Header{})
		got, err := io.ReadAll(body)
		g.Expect(string(got)).To(Equal("all work and no play"))
		g.Expect(errors.Is(err, io.ErrUnexpectedEOF)).To(Equal(cut))
	}
}

func TestAServerThatDoesNotCompressIsUnderstood(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	plain := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Header.Get("Accept-Encoding"))
	}
	for want, header := range map[string]http.Header{
		likesGzip: {},
		"br":      {"Accept-Encoding": {"br"}}, // a caller that sets Accept-Encoding decompresses by itself
	} {
		_, body := askCompressed(t, plain, header)
		got, err := io.ReadAll(body)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(got)).To(Equal(want))
	}
}
