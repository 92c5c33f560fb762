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
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"fairlead.dev/test/cluster"
)

// expectDashboard loads the sign-in page of a hub whose CA certificate is in a file.
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

// read returns the body at an address, whatever the status.
func read(t *testing.T, browser *http.Client, at string) string {
	t.Helper()
	g := NewWithT(t)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at, nil)
	g.Expect(err).NotTo(HaveOccurred())
	return do(t, browser, r)
}

// do sends a request and returns the body of the response, whatever the status.
func do(t *testing.T, browser *http.Client, r *http.Request) string {
	t.Helper()
	g := NewWithT(t)
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
	g.Eventually(e.out.String).WithTimeout(waitTimeout).Should(HavePrefix("http://127.0.0.1:"), e.err.String)
	link := e.out.String()
	link = link[:len(link)-1]

	jar, err := cookiejar.New(nil)
	g.Expect(err).NotTo(HaveOccurred())
	browser := &http.Client{Jar: jar}
	u, err := url.Parse(link)
	g.Expect(err).NotTo(HaveOccurred())
	code := u.Query().Get("code")
	// Programs check where a link leads, and browsers prefetch pages: neither may use up the code.
	head, err := http.NewRequestWithContext(ctx, http.MethodHead, link, nil)
	g.Expect(err).NotTo(HaveOccurred())
	looked, err := (&http.Client{}).Do(head)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(looked.Body.Close()).To(Succeed())
	g.Expect(looked.StatusCode).To(Equal(http.StatusOK))
	g.Expect(looked.Cookies()).To(BeEmpty())
	g.Expect(read(t, &http.Client{}, link)).To(ContainSubstring(`name="code" value="` + code))
	goOn := func(browser *http.Client) string {
		t.Helper()
		form := strings.NewReader(url.Values{"code": {code}}.Encode())
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+u.Host+"/signin/link", form)
		g.Expect(err).NotTo(HaveOccurred())
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		return do(t, browser, r)
	}
	g.Expect(goOn(browser)).To(ContainSubstring("<h1>Overview</h1>"))
	g.Expect(goOn(&http.Client{})).To(ContainSubstring("was already used"), "it is good once")
	g.Expect(read(t, &http.Client{}, link)).To(ContainSubstring("was already used"))
	g.Expect(read(t, &http.Client{}, "http://"+u.Host+"/clusters")).To(ContainSubstring("whoever started"), "others are not let in")

	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+u.Host+"/", nil)
	g.Expect(err).NotTo(HaveOccurred())
	r.Host = "elsewhere.example"
	answer, err := browser.Do(r)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(answer.Body.Close()).To(Succeed())
	g.Expect(answer.StatusCode).To(Equal(http.StatusMisdirectedRequest), "a name from elsewhere that points here")

	cancel()
	g.Eventually(status).WithTimeout(waitTimeout).Should(Receive(BeZero()))
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

func TestTheLinkStandsOnNoCommandLine(t *testing.T) {
	g := NewWithT(t)
	bin, temp := t.TempDir(), t.TempDir()
	said := filepath.Join(bin, "said")
	program := map[string]string{"linux": "xdg-open", "darwin": "open"}[runtime.GOOS]
	g.Expect(os.WriteFile(filepath.Join(bin, program), []byte("#!/bin/sh\necho \"$@\" > "+said+".new; mv "+said+".new "+said+"\n"), 0o700)).To(Succeed())
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv("TMPDIR", temp)
	const link = "http://127.0.0.1:1/signin/link?code=secret"
	remove := openBrowser(t.Context(), link)
	var args []byte
	g.Eventually(func() (err error) { args, err = os.ReadFile(said); return err }).WithTimeout(waitTimeout).Should(Succeed())
	g.Expect(string(args)).NotTo(ContainSubstring("secret"))
	file := strings.TrimSpace(string(args))
	g.Expect(os.ReadFile(file)).To(ContainSubstring(link))
	info, err := os.Stat(file)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(info.Mode().Perm()).To(Equal(os.FileMode(0o600)))
	remove()
	g.Expect(file).NotTo(BeAnExistingFile())
}
