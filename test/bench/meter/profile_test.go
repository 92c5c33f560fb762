package meter_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/client-go/rest"

	"fairlead.dev/test/bench/meter"
)

// rounds is a program that serves at most so many profiles, and then ends.
func rounds(t *testing.T, most int64) (meter.Profiled, *atomic.Int64) {
	t.Helper()
	g, told := NewWithT(t), &atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/debug/pprof/profile" || r.URL.Query().Get("seconds") != "5" || told.Load() >= most {
			http.Error(w, "it ends", http.StatusServiceUnavailable)
			return
		}
		_ = profiled([]string{"main.main"}).Write(w) // the client notices an error
		told.Add(1)
	}))
	t.Cleanup(server.Close)
	p, err := meter.ProfiledAPI(&rest.Config{Host: server.URL})
	g.Expect(err).NotTo(HaveOccurred())
	return p, told
}

func TestARecordingHasAllRounds(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	program, told := rounds(t, 1e6)
	recording := program.Record(t.Context())
	g.Eventually(told.Load).WithTimeout(time.Minute).Should(BeNumerically(">=", 3))
	sum, err := recording.Stop()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(sum.Sample).To(HaveLen(1))
	g.Expect(sum.Sample[0].Value[0]).To(BeNumerically(">=", 3))
}

func TestMemoryIsReadFromAProfileOfTheHeap(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	answer := "heap profile: 1: 2 [3: 4] @ heap/1048576\n\n# runtime.MemStats\n# Alloc = 9\n# HeapAlloc = 1234\n# HeapSys = 5\n# Stack = 56 / 78\n"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/debug/pprof/heap" && r.URL.Query().Get("gc") == "1" {
			_, _ = io.WriteString(w, answer) // the client notices an error
		}
	}))
	t.Cleanup(server.Close)
	program, err := meter.ProfiledAPI(&rest.Config{Host: server.URL})
	g.Expect(err).NotTo(HaveOccurred())
	live, err := program.Live(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(live).To(Equal(meter.Live{Heap: 1234, Stacks: 56}))

	answer = "# HeapAlloc = 1234\n"
	_, err = program.Live(t.Context())
	g.Expect(err).To(MatchError(ContainSubstring("does not tell")))
}

func TestOfAProgramThatEndsARecordingHasWhatItSaid(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	program, told := rounds(t, 2)
	recording := program.Record(t.Context())
	g.Eventually(told.Load).WithTimeout(time.Minute).Should(Equal(int64(2)))
	sum, err := recording.Stop()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(sum.Sample[0].Value[0]).To(Equal(int64(2)))

	silent, _ := rounds(t, 0)
	_, err = silent.Record(t.Context()).Stop()
	g.Expect(err).To(MatchError(ContainSubstring("503")))
}
