package setup_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"fairlead.dev/agent/setup"
	"fairlead.dev/common/contract"
	lines "fairlead.dev/common/line"
)

// TestAnAgentAnswersOverItsLine checks that only the hub reaches the agent over its line, and operators only after
// the owner of the member allows it.
func TestAnAgentAnswersOverItsLine(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := newJoined(t, "lined")
	w.place(t)
	hubs := make(chan net.Conn, 1)
	stop := w.run(t, func(o *setup.Options) {
		o.Line.Certificate = func() (string, time.Time) { return "1", time.Now().Add(time.Hour) }
		o.Line.Open = func(_ context.Context, path string, header http.Header) (net.Conn, *http.Response, error) {
			if path != contract.LineAttachPath("lined") || header.Get(contract.LineOperatorsHeader) == "" {
				t.Errorf("asked for %s with %v", path, header)
			}
			hub, agent := net.Pipe()
			hubs <- hub
			return agent, &http.Response{StatusCode: http.StatusSwitchingProtocols, Header: http.Header{}, Body: http.NoBody}, nil
		}
	})
	var hub net.Conn
	g.Eventually(hubs).WithTimeout(time.Minute).Should(Receive(&hub))
	c, err := lines.NewClient(t.Context(), hub, lines.ClientOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = c.Close() })
	ask := func(path string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://agent"+path, http.NoBody)
		g.Expect(err).NotTo(HaveOccurred())
		resp, err := c.RoundTrip(req)
		g.Expect(err).NotTo(HaveOccurred())
		defer resp.Body.Close() //nolint:errcheck // a test
		text, err := io.ReadAll(resp.Body)
		g.Expect(err).NotTo(HaveOccurred())
		return resp.StatusCode, string(text)
	}
	g.Eventually(func() int {
		code, _ := ask(contract.LineSelfPath)
		return code
	}).WithTimeout(time.Minute).Should(Equal(http.StatusOK))
	code, text := ask(contract.LineProxyPrefix + "/api/v1/namespaces")
	g.Expect(code).To(Equal(http.StatusForbidden), text)
	stop()
	g.Eventually(c.Done()).WithTimeout(time.Minute).Should(BeClosed())
	g.Expect(c.Err()).To(MatchError(lines.ErrGoodbye))
}
