package registration

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	certutil "k8s.io/client-go/util/cert"
	"k8s.io/utils/clock"

	"fairlead.dev/common/contract"
)

// TestTheHubIsNotToldWhatTheMirrorHasNot makes an agent trust a new authority while the member does not accept its
// credentials.
func TestTheHubIsNotToldWhatTheMirrorHasNot(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	const nobody = "https://127.0.0.1:1"
	old, next := newAuthority(t, "old"), newAuthority(t, "next")
	cert := old.agent(t)
	dir := joinedTo(t, nobody, old.cert, cert, old.key)
	files, err := Files(dir)
	g.Expect(err).NotTo(HaveOccurred())
	open := func(m *SecretStore) *Credentials {
		c, err := OpenCredentials(KeepOptions{StateDir: dir, Clock: clock.RealClock{}, Random: func() float64 { return 1 }, SecretStore: m})
		g.Expect(err).NotTo(HaveOccurred())
		return c
	}
	trusts := func(c *Credentials) int {
		all, _ := c.Trust()
		return len(all)
	}
	g.Expect(trusts(open(nil))).To(Equal(1))
	g.Expect(trusts(open(&SecretStore{}))).To(BeZero(), "nobody knows what the member has")

	c := open(&SecretStore{saved: files})
	g.Expect(trusts(c)).To(Equal(1))
	both := slices.Concat(encodeCertificate(old.cert), encodeCertificate(next.cert))
	g.Expect(c.keep(both, encodeCertificate(cert), old.key)).To(Succeed())
	g.Expect(c.now().trusts).To(HaveLen(2), "it goes by both at once")
	g.Expect(trusts(c)).To(Equal(1), "the next pod would not")
	c.markPersisted()
	g.Expect(trusts(c)).To(Equal(2))
}

// authority signs certificates of agents, all with its own key.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, name string) authority {
	t.Helper()
	g := NewWithT(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	cert, err := certutil.NewSelfSignedCACert(certutil.Config{CommonName: name}, key)
	g.Expect(err).NotTo(HaveOccurred())
	return authority{cert: cert, key: key}
}

// agent returns a certificate for the agent of edge-1.
func (a authority) agent(t *testing.T) *x509.Certificate {
	t.Helper()
	return a.agentOf(t, "a-join", time.Now().Add(-time.Hour))
}

// agentOf returns the certificate that a join at some time gave to the agent.
func (a authority) agentOf(t *testing.T, join string, at time.Time) *x509.Certificate {
	t.Helper()
	g := NewWithT(t)
	raw, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: contract.AgentUser("edge-1"), Organization: []string{contract.JoinGroup(join)}},
		NotBefore: at, NotAfter: time.Now().Add(time.Hour),
	}, a.cert, &a.key.PublicKey, a.key)
	g.Expect(err).NotTo(HaveOccurred())
	cert, err := x509.ParseCertificate(raw)
	g.Expect(err).NotTo(HaveOccurred())
	return cert
}

// joinedTo returns the state directory of edge-1, which has joined a hub.
func joinedTo(t *testing.T, hub string, ca, cert *x509.Certificate, key *ecdsa.PrivateKey) string {
	t.Helper()
	g := NewWithT(t)
	s := state{dir: t.TempDir()}
	g.Expect(s.claim(identity{Cluster: "edge-1", Server: hub})).To(Succeed())
	g.Expect(s.keep(hub, "edge-1", encodeCertificate(ca), encodeCertificate(cert), key)).To(Succeed())
	return s.dir
}
