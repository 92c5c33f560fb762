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

// TestTheHubIsNotToldWhatTheMirrorHasNot has an agent trust another authority while the member
// does not take its credentials.
func TestTheHubIsNotToldWhatTheMirrorHasNot(t *testing.T) {
	t.Parallel()
	const nobody = "https://127.0.0.1:1"
	g := NewWithT(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	authority := func(name string) *x509.Certificate {
		ca, err := certutil.NewSelfSignedCACert(certutil.Config{CommonName: name}, key)
		g.Expect(err).NotTo(HaveOccurred())
		return ca
	}
	old, next := authority("old"), authority("next")
	raw, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: contract.AgentUser("edge-1")},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}, old, &key.PublicKey, key)
	g.Expect(err).NotTo(HaveOccurred())
	cert, err := x509.ParseCertificate(raw)
	g.Expect(err).NotTo(HaveOccurred())

	dir := t.TempDir()
	s := state{dir: dir}
	g.Expect(s.claim(identity{Cluster: "edge-1", Server: nobody})).To(Succeed())
	g.Expect(s.keep(nobody, "edge-1", encodeCertificate(old), encodeCertificate(cert), key)).To(Succeed())
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
	both := slices.Concat(encodeCertificate(old), encodeCertificate(next))
	g.Expect(c.keep(both, encodeCertificate(cert), key)).To(Succeed())
	g.Expect(c.now().trusts).To(HaveLen(2), "it goes by both at once")
	g.Expect(trusts(c)).To(Equal(1), "the next pod would not")
	c.mirrored()
	g.Expect(trusts(c)).To(Equal(2))
}
