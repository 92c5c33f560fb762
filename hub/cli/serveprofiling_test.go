package cli

import (
	"context"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestTheOwnerAloneMayReadTheHubsProfiles(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	dir, err := os.MkdirTemp("/tmp", "fairlead-profiling-") //nolint:usetesting // The path of a socket must be short.
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, profilingSocket)
	g.Expect(os.WriteFile(socket, nil, 0o644)).To(Succeed(), "a hub that was killed left one")

	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- profiling{socket: socket}.Start(ctx) }()
	c := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}}}
	g.Eventually(func(g Gomega) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://hub/debug/pprof/goroutine", http.NoBody)
		g.Expect(err).NotTo(HaveOccurred())
		response, err := c.Do(request)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(response.Body.Close()).To(Succeed())
		g.Expect(response.StatusCode).To(Equal(http.StatusOK))
	}).WithTimeout(time.Minute).Should(Succeed())
	info, err := os.Stat(socket)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(info.Mode()).To(Equal(fs.ModeSocket | 0o600))
	cancel()
	g.Eventually(done).WithTimeout(time.Minute).Should(Receive(BeNil()))
}
