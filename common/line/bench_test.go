package line_test

import (
	"io"
	"net/http"
	"runtime"
	"testing"

	. "github.com/onsi/gomega"

	"fairlead.dev/common/line"
)

// inUse is what Go holds of memory for objects and stacks, without garbage.
func inUse() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // pools keep what they had once more
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc + m.StackInuse)
}

// BenchmarkIdleLine says what a line that carries nothing takes at both ends, without TLS.
func BenchmarkIdleLine(b *testing.B) {
	const lines = 500
	for b.Loop() {
		before := inUse()
		opened := make([]*ends, 0, lines)
		for range lines {
			e := open(b, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, line.ServerOptions{})
			e.do(b, http.MethodGet, "/self", nil)
			opened = append(opened, e)
		}
		b.ReportMetric((inUse()-before)/lines, "B/line")
		for _, e := range opened {
			_ = e.client.Close()
		}
	}
}

// BenchmarkStreams says what a stream takes at both ends that has carried something and is silent: 1,000 on 10 lines, as many of them
// upgraded as may be, and the others answers that go on.
func BenchmarkStreams(b *testing.B) {
	const lines = 10
	said := make([]byte, 32<<10)
	h := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/exec" {
			echo(w, r)
			return
		}
		_, _ = w.Write(said)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
	for b.Loop() {
		opened := make([]*ends, 0, lines)
		for range lines {
			opened = append(opened, open(b, h, line.ServerOptions{}))
		}
		before := inUse()
		for _, e := range opened {
			for n := range line.MaxStreams {
				if n < line.MaxUploads {
					s := e.upgrade(b, "/exec")
					if _, err := s.Write(said); err != nil {
						b.Fatal(err)
					}
					readAll(b, s, said)
					continue
				}
				resp, err := e.client.RoundTrip(e.request(b, http.MethodGet, "/logs", nil)) //nolint:bodyclose // What upgrades ends with its connection.
				NewWithT(b).Expect(err).NotTo(HaveOccurred())
				readAll(b, resp.Body, said)
			}
		}
		b.ReportMetric((inUse()-before)/(lines*line.MaxStreams), "B/stream")
		for _, e := range opened {
			_ = e.client.Close()
		}
	}
}

func readAll(b *testing.B, from io.Reader, into []byte) {
	b.Helper()
	if _, err := io.ReadFull(from, into); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkThroughput is what one stream carries one way.
func BenchmarkThroughput(b *testing.B) {
	e := open(b, func(w http.ResponseWriter, r *http.Request) {
		data := make([]byte, 64<<10)
		for r.Context().Err() == nil {
			if _, err := w.Write(data); err != nil {
				return
			}
		}
	}, line.ServerOptions{})
	resp, err := e.client.RoundTrip(e.request(b, http.MethodGet, "/", nil))
	NewWithT(b).Expect(err).NotTo(HaveOccurred())
	defer resp.Body.Close() //nolint:errcheck // a test
	data := make([]byte, 1<<20)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := io.ReadFull(resp.Body, data); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRequest is how long a small request takes.
func BenchmarkRequest(b *testing.B) {
	e := open(b, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }, line.ServerOptions{})
	for b.Loop() {
		e.do(b, http.MethodGet, "/api", nil)
	}
}
