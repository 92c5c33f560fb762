package bootstrap

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// authority returns a certificate of a fresh key, in PEM.
func authority(t *testing.T) []byte {
	t.Helper()
	g := NewWithT(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"}, IsCA: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	g.Expect(err).NotTo(HaveOccurred())
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// kubeadmCA and its hash are an example of `kubeadm` and openssl: the SHA-256 of the
// subject public key info in DER.
const (
	kubeadmCA = `-----BEGIN CERTIFICATE-----
MIIBgTCCASegAwIBAgIUCqAJXfCu40B3enTMNIiE15b4lAswCgYIKoZIzj0EAwIw
FTETMBEGA1UEAwwKa3ViZXJuZXRlczAgFw0yNjExMjEwMDA4MTJaGA8yMTI2MTAy
ODAwMDgxMlowFTETMBEGA1UEAwwKa3ViZXJuZXRlczBZMBMGByqGSM49AgEGCCqG
SM49AwEHA0IABGv1lsNSpnb7HX0hLzH+cqP5npzDToug+Pmsj9sHwz7/A8y70q3T
sRzw5KLS/KrTra0ienG9iMwb3EumpK29vJKjUzBRMB0GA1UdDgQWBBS3dwrc+7Wa
nKOmKlj0C4Cl5Qnv0zAfBgNVHSMEGDAWgBS3dwrc+7WanKOmKlj0C4Cl5Qnv0zAP
BgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0gAMEUCIAPLcZK4pKpxrTXOKx5B
DAR5gkNkRjiN3qFyc1mb2nxdAiEAzMl4mvf3cSmPJs7KHzfqj7QiRs/iWd1UeS/0
HsQE2CI=
-----END CERTIFICATE-----
`
	kubeadmHash = "sha256:f3fb272df1aaff472ecfe500c8cee0bf6ff8863bd7a63ea74a59c39466112726"
)

func TestCAHashIsThatOfOpenSSL(t *testing.T) {
	t.Parallel()
	NewWithT(t).Expect(CAHash([]byte(kubeadmCA))).To(Equal([]string{kubeadmHash}))
}

func TestCAHash(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	one, two := authority(t), authority(t)
	hashes, err := CAHash(append(append([]byte("a comment\n"), one...), two...))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(hashes).To(HaveLen(2))
	g.Expect(hashes[0]).NotTo(Equal(hashes[1]))
	for _, hash := range hashes {
		g.Expect(ValidateCAHash(hash)).To(Succeed())
	}

	for name, bundle := range map[string]string{
		"nothing":                       "",
		"no PEM":                        "hello",
		"a key":                         "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
		"a certificate that is damaged": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
	} {
		_, err := CAHash([]byte(bundle))
		g.Expect(err).To(HaveOccurred(), name)
	}
}

func TestVerifyCAHash(t *testing.T) {
	t.Parallel()
	one, two := authority(t), authority(t)
	hash := func(bundle []byte) string {
		hashes, err := CAHash(bundle)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		return hashes[0]
	}
	both := append(append([]byte{}, one...), two...)
	tests := map[string]struct {
		bundle []byte
		pins   []string
		ok     bool
	}{
		"the pinned one is trusted":                 {one, []string{hash(one)}, true},
		"upper case is the same hash":               {one, []string{strings.ToUpper(hash(one))}, true},
		"one of several pins is enough":             {one, []string{hash(two), hash(one)}, true},
		"another one is not trusted":                {two, []string{hash(one)}, false},
		"a stranger beside it is not trusted":       {both, []string{hash(one)}, false},
		"two are trusted that are both pinned":      {both, []string{hash(one), hash(two)}, true},
		"without a pin nobody is trusted":           {one, nil, false},
		"a pin that is cut is refused":              {one, []string{hash(one)[:40]}, false},
		"a pin of another kind is refused":          {one, []string{"md5:00"}, false},
		"a wrong pin beside the right one is noted": {one, []string{hash(one), "sha256:xyz"}, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := VerifyCAHash(tc.bundle, tc.pins)
			NewWithT(t).Expect(err == nil).To(Equal(tc.ok), "%v", err)
		})
	}
}
