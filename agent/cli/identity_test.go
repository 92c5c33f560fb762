package cli

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"fairlead.dev/agent/registration"
	"fairlead.dev/common/contract"
)

const (
	// nobodysHub is the address of a hub where nobody is, and nobodysPin a hash with which an agent joined it.
	nobodysHub = "127.0.0.1:1"
	nobodysPin = "sha256:abababababababababababababababababababababababababababababababab"
)

// joinedFiles returns the files of an agent that joined a hub at an address where nothing listens, with the given
// choice for the objects on retirement.
func joinedFiles(t *testing.T, onRetire string) map[string][]byte {
	t.Helper()
	g := NewWithT(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		Subject: pkix.Name{CommonName: contract.AgentUser("edge-1"), Organization: []string{contract.AgentGroup, contract.JoinGroup("a-join")}},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	g.Expect(err).NotTo(HaveOccurred())
	rawKey, err := x509.MarshalECPrivateKey(key)
	g.Expect(err).NotTo(HaveOccurred())
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	config, err := clientcmd.Write(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{"hub": {Server: "https://" + nobodysHub, CertificateAuthorityData: cert}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{"edge-1": {
			ClientCertificateData: cert, ClientKeyData: pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: rawKey}),
		}},
		Contexts: map[string]*clientcmdapi.Context{"edge-1": {Cluster: "hub", AuthInfo: "edge-1"}}, CurrentContext: "edge-1",
	})
	g.Expect(err).NotTo(HaveOccurred())
	return map[string][]byte{
		registration.KubeconfigFile: config,
		"agent.json":                fmt.Appendf(nil, `{"cluster": "edge-1", "server": "https://%s", "memberID": "m", "pins": %q, "onRetire": %q}`, nobodysHub, nobodysPin, onRetire),
	}
}

// started returns the flags of an agent that keeps its state in a directory, and the arguments of its join.
func started(t *testing.T, stateDir string) *runFlags {
	t.Helper()
	return &runFlags{join: joinFlags{
		stateDir: stateDir, tokenFile: filepath.Join(t.TempDir(), "token"), hashes: []string{nobodysPin}, clusterName: "edge-1", timeout: time.Minute,
	}}
}

// TestAnAgentStartsWithoutTheTokenOfItsJoin checks that the token file may be deleted once the agent has joined.
func TestAnAgentStartsWithoutTheTokenOfItsJoin(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	f := started(t, filepath.Join(t.TempDir(), "state"))
	start := func() (*registration.Credentials, error) {
		return f.identity(t.Context(), []string{nobodysHub}, &rest.Config{Host: "https://" + nobodysHub}, nil)
	}
	_, err := start()
	g.Expect(err).To(MatchError(ContainSubstring("--token-file")), "it has not joined yet")
	g.Expect(registration.WriteFiles(f.join.stateDir, joinedFiles(t, ""))).To(Succeed())
	credentials, err := start()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(credentials.Cluster()).To(Equal("edge-1"))
	f.join.hashes = []string{"sha256:" + strings.Repeat("cd", 32)}
	_, err = start()
	g.Expect(err).To(MatchError(ContainSubstring("--token-file")), "this is another join")
}

// TestAnAgentThatHasJoinedIsToldWhatBecomesOfTheObjects checks that --on-retire takes effect on an agent that has
// joined already and could not join again.
func TestAnAgentThatHasJoinedIsToldWhatBecomesOfTheObjects(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{"without the address of its hub": nil, "without the token of its join": {nobodysHub}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			dir := filepath.Join(t.TempDir(), "state")
			g.Expect(registration.WriteFiles(dir, joinedFiles(t, registration.Remove))).To(Succeed())
			for _, tc := range []struct{ onRetire, want string }{
				{"", registration.Remove}, {registration.Keep, registration.Keep}, {"", registration.Keep}, {registration.Remove, registration.Remove},
			} {
				f := started(t, dir)
				f.join.onRetire = tc.onRetire
				if len(args) == 0 {
					f.join.tokenFile, f.join.hashes = "", nil
				}
				credentials, err := f.identity(t.Context(), args, &rest.Config{Host: "https://" + nobodysHub}, nil)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(credentials.OnRetire()).To(Equal(tc.want))
			}
			f := started(t, dir)
			f.join.onRetire, f.join.tokenFile, f.join.hashes = "kept", "", nil
			_, err := f.identity(t.Context(), args, &rest.Config{Host: "https://" + nobodysHub}, nil)
			g.Expect(err).To(MatchError(ContainSubstring("--on-retire")))
		})
	}
}
