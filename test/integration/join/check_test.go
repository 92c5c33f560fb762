package join

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	certificatesv1 "k8s.io/api/certificates/v1"

	"fairlead.dev/agent/registration"
	"fairlead.dev/agent/registration/discovery"
	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

// between is a man in the middle with another authority.
type between struct {
	address string
	mu      sync.Mutex
	secrets []string
}

func newBetween(t *testing.T, h *hub) *between {
	t.Helper()
	b := &between{}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	h.g.Expect(err).NotTo(HaveOccurred())
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "kube-apiserver"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(day), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	h.g.Expect(err).NotTo(HaveOccurred())
	behind := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		if secret := r.Header.Get("Authorization"); secret != "" {
			b.secrets = append(b.secrets, secret)
		}
		b.mu.Unlock()
		request, err := http.NewRequestWithContext(r.Context(), r.Method, h.config.Host+r.URL.Path, r.Body)
		if err != nil {
			return
		}
		request.Header = r.Header
		response, err := behind.RoundTrip(request)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer func() { _ = response.Body.Close() }()
		w.WriteHeader(response.StatusCode)
		_, _ = io.Copy(w, response.Body)
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	server.StartTLS()
	t.Cleanup(server.Close)
	b.address = strings.TrimPrefix(server.URL, "https://")
	return b
}

func TestNobodyBetweenLearnsTheToken(t *testing.T) {
	h := newHub(t)
	ctx := t.Context()
	b := newBetween(t, h)
	o := h.options("between", h.token(ctx, "between", time.Hour))
	o.Hub, o.Deadline = b.address, 5*time.Second
	_, err := registration.Join(ctx, o)
	h.g.Expect(err).To(MatchError(discovery.ErrCAMismatch))
	t.Log(err)
	findings, well := h.check(o)
	h.g.Expect(well).To(BeFalse())
	h.g.Expect(findings["TLS"].Failed()).To(BeTrue())
	h.g.Expect(findings["token"].Skipped).To(BeTrue())
	h.g.Expect(b.secrets).To(BeEmpty(), "it was never sent")
}

// check returns the findings by check, and whether none failed.
func (h *hub) check(o registration.Options) (map[string]registration.Finding, bool) {
	out, well := map[string]registration.Finding{}, true
	h.g.Expect(registration.Check(h.t.Context(), o, func(f registration.Finding) {
		h.t.Logf("%+v", f)
		out[f.Check] = f
		well = well && !f.Failed()
	})).To(Succeed())
	return out, well
}

func TestACheckSaysWhatIsInTheWay(t *testing.T) {
	h := newHub(t)
	ctx := t.Context()
	h.serve()
	token := h.created(ctx, "--cluster", "checked")
	id, _, _ := strings.Cut(token, ".")
	taken := &clusterv1alpha1.Cluster{Spec: clusterv1alpha1.ClusterSpec{ID: "somebody-else-again", SyncMode: clusterv1alpha1.Pull}}
	taken.Name = "checked-taken"
	h.g.Expect(h.Create(ctx, taken)).To(Succeed())
	const nobody = "127.0.0.1:1" // a port that was free a moment ago may be that of another test

	tests := map[string]struct {
		change func(*registration.Options)
		fails  string
		says   string
	}{
		"nothing":              {change: func(*registration.Options) {}},
		"no such name":         {change: func(o *registration.Options) { o.Hub = "no-such-host.invalid:6443" }, fails: "DNS", says: "no-such-host.invalid has no address"},
		"nobody answers":       {change: func(o *registration.Options) { o.Hub = nobody }, fails: "TCP", says: "does not answer"},
		"a clock that is off":  {change: func(o *registration.Options) { o.Clock = ahead{by: time.Hour} }, fails: "clock", says: "apart"},
		"another hash":         {change: func(o *registration.Options) { o.CACertHashes = []string{"sha256:" + strings.Repeat("ab", 32)} }, fails: "TLS", says: "expected"},
		"a token that is none": {change: func(o *registration.Options) { o.Token = "zzzzzz.0123456789abcdef" }, fails: "token", says: "does not know"},
		"a guessed token":      {change: func(o *registration.Options) { o.Token = id + ".0123456789abcdef" }, fails: "token", says: "wrong after its dot"},
		"another name":         {change: func(o *registration.Options) { o.Cluster = "another" }, fails: "name", says: "is for cluster checked"},
		"a name that is taken": {
			change: func(o *registration.Options) {
				o.Cluster, o.Token = "checked-taken", h.created(ctx, "--cluster", "checked-taken")
			},
			fails: "name", says: "taken by another member",
		},
		"a member that is silent": {change: func(o *registration.Options) { o.Member.Host = "https://" + nobody }, fails: "member", says: "cannot be asked"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := h.options("checked", token)
			o.Member = members(t)("checked")
			tc.change(&o)
			findings, well := h.check(o)
			g.Expect(findings).To(HaveLen(9), "a line for each, whatever fails")
			if tc.fails == "" {
				g.Expect(well).To(BeTrue())
			}
			for check, f := range findings {
				g.Expect(f.Failed()).To(Equal(check == tc.fails), "%s: %+v", check, f)
			}
			if tc.fails != "" {
				g.Expect(findings[tc.fails].Is + findings[tc.fails].Advice).To(ContainSubstring(tc.says))
			}
		})
	}
	h.g.Expect(h.must(ctx, "token", "list")).To(MatchRegexp(id+` +checked +1 of 1`), "no check used it up")
	var requests certificatesv1.CertificateSigningRequestList
	h.g.Expect(h.List(ctx, &requests)).To(Succeed())
	for _, request := range requests.Items {
		if strings.HasPrefix(request.Name, "checked-") {
			h.g.Expect(request.Status.Certificate).To(BeEmpty())
		}
	}
}
