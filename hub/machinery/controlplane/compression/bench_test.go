package compression

import (
	"bytes"
	"math/rand"
	"net/http"
	"runtime"
	"strconv"
	"testing"
)

// discarding is a response that nobody reads.
type discarding struct {
	header http.Header
	bytes  int64
}

func (d *discarding) Header() http.Header { return d.header }
func (d *discarding) WriteHeader(int)     {}
func (d *discarding) Write(p []byte) (int, error) {
	d.bytes += int64(len(p))
	return len(p), nil
}

func newAnswer(all *compressors, b *budget, user string) (*answer, *discarding) {
	to := &discarding{header: http.Header{"Content-Type": {jsonType}}}
	return &answer{ResponseWriter: to, compressors: all, watch: true, history: history{budget: b, user: user}}, to
}

// BenchmarkEvent measures an event of 3 kB that equals the one before except for a few bytes.
func BenchmarkEvent(b *testing.B) {
	a, to := newAnswer(newCompressors(), &budget{}, "edge-1")
	defer a.history.end()
	dice := rand.New(rand.NewSource(1))
	for range 20 {
		_, _ = a.Write(event(dice, "Work", 3000))
	}
	e := event(dice, "Work", 3000)
	_, _ = a.Write(e)
	was := to.bytes
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		_, _ = a.Write(append(bytes.TrimSuffix(e, []byte("\n")), strconv.Itoa(i)...))
	}
	b.ReportMetric(float64(to.bytes-was)/float64(b.N), "sent-B/op")
}

// BenchmarkMemory measures the memory per watch, of a thousand that have just sent and then of the same ones idle,
// beyond what the server itself takes for them, and the memory of a compressor, of which there is one per processor.
func BenchmarkMemory(b *testing.B) {
	heap := func() int64 {
		runtime.GC()
		runtime.GC() // a sync.Pool releases its content after two collections
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc) //nolint:gosec // It is far below the limit.
	}
	const n = 1000
	for b.Loop() {
		all, limits, e := newCompressors(), &budget{}, event(rand.New(rand.NewSource(1)), "Work", 40_000)
		before := heap()
		answers := make([]*answer, n)
		for i := range answers {
			answers[i], _ = newAnswer(all, limits, strconv.Itoa(i))
			_, _ = answers[i].Write(e)
		}
		b.ReportMetric(float64(heap()-before)/n, "B/active-watch")
		for _, a := range answers {
			a.history.end()
		}
		b.ReportMetric(float64(heap()-before)/n, "B/calm-watch")
		runtime.KeepAlive(answers)

		before = heap()
		one, out := newCompressor(), &bytes.Buffer{}
		one.compress(out, e, e)
		b.ReportMetric(float64(heap()-before-int64(out.Cap())), "B/compressor")
		runtime.KeepAlive(one)
		runtime.KeepAlive(out)
	}
}
