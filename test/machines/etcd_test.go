package machines

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"fairlead.dev/test/cluster"
	"fairlead.dev/test/process"
)

// members is the size of the etcd cluster, which survives the loss of one.
const members = 3

// etcd is an etcd cluster.
type etcd struct {
	dir    string
	client []string // URLs
	peer   []string
	run    []*process.Process
}

// startEtcd starts an etcd cluster with mutual TLS.
func startEtcd(t *testing.T) *etcd {
	t.Helper()
	g := NewWithT(t)
	e := &etcd{dir: t.TempDir(), run: make([]*process.Process, members)}
	e.certify(t)
	urls := freeURLs(t, 2*members)
	e.client, e.peer = urls[:members], urls[members:]
	for i := range members {
		e.start(t, i)
	}
	t.Cleanup(func() {
		for _, p := range e.run {
			p.Kill()
		}
		if t.Failed() {
			t.Log(process.Tail(e.log(0), e.log(1), e.log(2)))
		}
	})
	for i := range members {
		g.Eventually(func() error { return e.healthy(t.Context(), i) }).WithTimeout(waitTimeout).WithPolling(poll).Should(Succeed())
	}
	return e
}

func (e *etcd) log(i int) string { return filepath.Join(e.dir, fmt.Sprintf("etcd-%d.log", i)) }

// start starts a member, or restarts it.
func (e *etcd) start(t *testing.T, i int) {
	t.Helper()
	g := NewWithT(t)
	all := make([]string, members)
	for n := range members {
		all[n] = fmt.Sprintf("etcd-%d=%s", n, e.peer[n])
	}
	name := fmt.Sprintf("etcd-%d", i)
	args := []string{
		"etcd", "--name=" + name, "--data-dir=" + filepath.Join(e.dir, name), "--log-level=warn",
		"--unsafe-no-fsync", // data survive the kill of a process, and no machine loses power
		"--listen-client-urls=" + e.client[i], "--advertise-client-urls=" + e.client[i],
		"--listen-peer-urls=" + e.peer[i], "--initial-advertise-peer-urls=" + e.peer[i],
		"--initial-cluster=" + strings.Join(all, ","),
	}
	for _, prefix := range []string{"", "peer-"} {
		args = append(args, "--"+prefix+"client-cert-auth", "--"+prefix+"trusted-ca-file="+e.file("ca.crt"),
			"--"+prefix+"cert-file="+e.file("etcd.crt"), "--"+prefix+"key-file="+e.file("etcd.key"))
	}
	binary, err := cluster.Executable("controlplane")
	g.Expect(err).NotTo(HaveOccurred())
	e.run[i], err = process.Start(process.Spec{Executable: binary, Args: args, Dir: e.dir, Log: e.log(i)})
	g.Expect(err).NotTo(HaveOccurred())
}

func (e *etcd) file(name string) string { return filepath.Join(e.dir, name) }

// flags returns the flags of a hub that uses it.
func (e *etcd) flags() []string {
	return []string{
		"--etcd-servers=" + strings.Join(e.client, ","), "--etcd-cafile=" + e.file("ca.crt"),
		"--etcd-certfile=" + e.file("etcd.crt"), "--etcd-keyfile=" + e.file("etcd.key"),
		"--peer-bind-address=127.0.0.1:0", // all machines are this one
	}
}

// transport returns the transport of a client with a valid certificate.
func (e *etcd) transport() (*http.Transport, error) {
	pair, err := tls.LoadX509KeyPair(e.file("etcd.crt"), e.file("etcd.key"))
	if err != nil {
		return nil, err
	}
	ca, err := os.ReadFile(e.file("ca.crt"))
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	return &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool, Certificates: []tls.Certificate{pair}}}, nil
}

// healthy returns an error if a member is not healthy.
func (e *etcd) healthy(ctx context.Context, i int) error {
	transport, err := e.transport()
	if err != nil {
		return err
	}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, e.client[i]+"/health", http.NoBody)
	if err != nil {
		return err
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("it answers %s", response.Status)
	}
	return nil
}

// certify creates an authority, certificates for members and clients, and an unrelated authority.
func (e *etcd) certify(t *testing.T) {
	t.Helper()
	for authority, leaf := range map[string]string{"ca": "etcd", "other-ca": "other"} {
		caKey, caCert := issue(t, e.dir, authority, nil, nil)
		issue(t, e.dir, leaf, caKey, caCert)
	}
}

// issue writes a certificate and its key: an authority, or one signed by an authority.
func issue(t *testing.T, dir, name string, signer *ecdsa.PrivateKey, issuer *x509.Certificate) (*ecdsa.PrivateKey, *x509.Certificate) {
	t.Helper()
	g := NewWithT(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, BasicConstraintsValid: true,
	}
	if issuer == nil {
		template.IsCA, template.KeyUsage, template.ExtKeyUsage = true, x509.KeyUsageCertSign, nil
		signer, issuer = key, template
	}
	der, err := x509.CreateCertificate(rand.Reader, template, issuer, &key.PublicKey, signer)
	g.Expect(err).NotTo(HaveOccurred())
	keyDER, err := x509.MarshalECPrivateKey(key)
	g.Expect(err).NotTo(HaveOccurred())
	for suffix, block := range map[string]*pem.Block{"crt": {Type: "CERTIFICATE", Bytes: der}, "key": {Type: "EC PRIVATE KEY", Bytes: keyDER}} {
		g.Expect(os.WriteFile(filepath.Join(dir, name+"."+suffix), pem.EncodeToMemory(block), 0o600)).To(Succeed())
	}
	cert, err := x509.ParseCertificate(der)
	g.Expect(err).NotTo(HaveOccurred())
	return key, cert
}

// freeURLs returns URLs with ports that are free now. They are below the ephemeral range of Linux, which other tests
// and control planes use, because a member must get its port again later.
func freeURLs(t *testing.T, n int) []string {
	t.Helper()
	var urls []string
	var lc net.ListenConfig
	for tries := 0; len(urls) < n; tries++ {
		l, err := lc.Listen(t.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", 10000+mathrand.IntN(10000)))
		if err != nil && tries < 100 {
			continue // in use
		}
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		defer func() { _ = l.Close() }() // at the end, so that all ports differ
		urls = append(urls, "https://"+l.Addr().String())
	}
	return urls
}
