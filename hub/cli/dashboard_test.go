package cli

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"regexp"
	"testing"

	. "github.com/onsi/gomega"

	"fairlead.dev/test/cluster"
)

// expectDashboard looks at the page to sign in of a hub, whose authority is in a file.
func expectDashboard(t *testing.T, said, authority string) {
	t.Helper()
	g := NewWithT(t)
	found := regexp.MustCompile(`The dashboard: +(https://\S+)`).FindStringSubmatch(said)
	g.Expect(found).To(HaveLen(2), said)
	at := found[1]
	raw, err := os.ReadFile(authority)
	g.Expect(err).NotTo(HaveOccurred())
	pool := x509.NewCertPool()
	g.Expect(pool.AppendCertsFromPEM(raw)).To(BeTrue())
	browser := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}}
	g.Expect(read(t, browser, at+"/")).To(ContainSubstring("Sign in to the hub"))
}

// read returns what is at an address, whatever the status.
func read(t *testing.T, browser *http.Client, at string) string {
	t.Helper()
	g := NewWithT(t)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at, nil)
	g.Expect(err).NotTo(HaveOccurred())
	answer, err := browser.Do(r)
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	g.Expect(err).NotTo(HaveOccurred())
	return string(text)
}

func TestDashboardOnThisMachine(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	hub := cluster.Shared(t, cluster.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var e execution
	status := make(chan int, 1)
	go func() { status <- e.run(ctx, "dashboard", "--open=false", "--kubeconfig", hub.Kubeconfig) }()
	g.Eventually(e.out.String).WithTimeout(patience).Should(HavePrefix("http://127.0.0.1:"), e.err.String)
	link := e.out.String()
	link = link[:len(link)-1]

	jar, err := cookiejar.New(nil)
	g.Expect(err).NotTo(HaveOccurred())
	browser := &http.Client{Jar: jar}
	g.Expect(read(t, browser, link)).To(ContainSubstring("<h1>Overview</h1>"))
	g.Expect(read(t, &http.Client{}, link)).To(ContainSubstring("was used already"), "it is good once")
	u, err := url.Parse(link)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(read(t, &http.Client{}, "http://"+u.Host+"/clusters")).To(ContainSubstring("whoever started"), "others are not let in")

	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+u.Host+"/", nil)
	g.Expect(err).NotTo(HaveOccurred())
	r.Host = "elsewhere.example"
	answer, err := browser.Do(r)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(answer.Body.Close()).To(Succeed())
	g.Expect(answer.StatusCode).To(Equal(http.StatusMisdirectedRequest), "a name from elsewhere that points here")

	cancel()
	g.Eventually(status).WithTimeout(patience).Should(Receive(BeZero()))
}

func TestDashboardFlagsThatDoNotGoTogether(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	hub := cluster.Shared(t, cluster.Options{})
	for want, args := range map[string][]string{
		"go together":                 {"--dashboard-cert-file", "x"},
		"needs --dashboard-cert-file": {"--dashboard-bind-address", "127.0.0.1:0"},
	} {
		var e execution
		g.Expect(e.run(t.Context(), append([]string{"serve", "--kubeconfig", hub.Kubeconfig, "--metrics-bind-address", "0"}, args...)...)).To(Equal(1))
		g.Expect(e.lastLine()).To(ContainSubstring(want))
	}
}
