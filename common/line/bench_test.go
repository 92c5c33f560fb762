package line_test

import (
	"io"
	"net/http"
	"runtime"
	"testing"

	. "github.com/onsi/gomega"

	"fairlead.dev/common/line"
)

// inUse returns the bytes of live heap objects and stacks, after garbage collection.
func inUse() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // sync.Pools release their objects only at the second collection
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc + m.StackInuse)
}

// BenchmarkIdleLine measures the memory of an idle line at both ends, without TLS.
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

// BenchmarkStreams measures the memory, at both ends, of a stream that has carried data and is idle: 1,000 of them on
// 10 lines, as many of them upgraded as allowed, the others unfinished responses.
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

// BenchmarkThroughput measures one stream in one direction.
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

// BenchmarkRequest measures the duration of a small request.
func BenchmarkRequest(b *testing.B) {
	e := open(b, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }, line.ServerOptions{})
	for b.Loop() {
		e.do(b, http.MethodGet, "/api", nil)
	}
}
