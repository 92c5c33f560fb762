package kube_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/client-go/rest"

	"fairlead.dev/common/kube"
)

func TestTheClientCertificateOfAConfiguration(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	until := time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: until}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	g.Expect(err).NotTo(HaveOccurred())
	data := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	file := filepath.Join(t.TempDir(), "client.crt")
	g.Expect(os.WriteFile(file, data, 0o600)).To(Succeed())

	for name, config := range map[string]rest.TLSClientConfig{"inline": {CertData: data}, "in a file": {CertFile: file}} {
		cert, err := kube.ClientCertificate(&rest.Config{TLSClientConfig: config})
		g.Expect(err).NotTo(HaveOccurred(), name)
		g.Expect(cert.NotAfter).To(Equal(until), name)
	}
	none, err := kube.ClientCertificate(&rest.Config{BearerToken: "secret"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(none).To(BeNil())
	for name, config := range map[string]rest.TLSClientConfig{"no certificate": {CertData: []byte("x")}, "no file": {CertFile: file + ".gone"}} {
		_, err := kube.ClientCertificate(&rest.Config{TLSClientConfig: config})
		g.Expect(err).To(HaveOccurred(), name)
	}
}
