package connect

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"fairlead.dev/common/contract"
)

// TestAHubThatAsksForLineAfterLineGetsFew covers a compromised hub: it must not make an agent open lines without end,
// nor keep the replaced ones.
func TestAHubThatAsksForLineAfterLineGetsFew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		h := newHub(t)
		_, stop := h.keep(func(d *Deps) {
			d.Operators = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			})
		})
		defer stop()
		for range 20 * 60 { // a minute
			_, _ = ask(t, h.newest(), http.MethodPost, contract.LineRenewPath, "")
			time.Sleep(50 * time.Millisecond)
		}
		g.Expect(h.count()).To(BeNumerically("<", 60))

		for range 3 * mostLingering {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://agent/proxy/logs", http.NoBody)
			g.Expect(err).NotTo(HaveOccurred())
			logs, err := h.newest().RoundTrip(req)
			g.Expect(err).NotTo(HaveOccurred())
			defer logs.Body.Close() //nolint:errcheck // a test
			_, _ = ask(t, h.newest(), http.MethodPost, contract.LineRenewPath, "")
			time.Sleep(time.Minute)
		}
		open := 0
		synctest.Wait()
		for _, c := range h.lines {
			select {
			case <-c.Done():
			default:
				open++
			}
		}
		g.Expect(open).To(Equal(mostLingering + 1))
	})
}
