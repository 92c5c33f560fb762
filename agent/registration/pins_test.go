package registration

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	certutil "k8s.io/client-go/util/cert"
	"k8s.io/utils/clock"

	"fairlead.dev/agent/registration/discovery"
)

// TestTheHashesOfTheFirstStartAreEnough has the hub replace its authority, so that the agent trusts one that its
// arguments do not name. With unchanged hashes it keeps its state, even while the hub is away; with other hashes it
// joins anew.
func TestTheHashesOfTheFirstStartAreEnough(t *testing.T) {
	t.Parallel()
	const nobody = "https://127.0.0.1:1"
	first, second := "sha256:"+strings.Repeat("ab", 32), "sha256:"+strings.Repeat("cd", 32)
	g := NewWithT(t)
	s := state{dir: t.TempDir()}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	now, err := certutil.NewSelfSignedCACert(certutil.Config{CommonName: "exchanged"}, key)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.claim(identity{Cluster: "edge-1", Server: nobody})).To(Succeed())
	g.Expect(s.keep(nobody, "edge-1", encodeCertificate(now), encodeCertificate(now), key)).To(Succeed())

	joined := func(pins ...string) bool {
		j := &joining{
			parameters: discovery.Parameters{Server: nobody, Servers: []string{nobody}, Cluster: "edge-1", Pins: pins}, state: s,
			retrier: &retrier{clock: clock.RealClock{}, deadline: time.Now(), progress: func(string) {}},
		}
		_, ok := j.joined(t.Context())
		return ok
	}
	g.Expect(joined(first)).To(BeFalse(), "it never joined with this")
	g.Expect(s.finished(discovery.Parameters{Servers: []string{nobody}, Pins: []string{first}}, true)).To(Succeed())
	g.Expect(joined(first)).To(BeTrue())
	g.Expect(joined(second)).To(BeFalse())
	g.Expect(joined()).To(BeTrue(), "nothing is to be checked")
	g.Expect(s.claim(identity{Cluster: "edge-1", Server: nobody})).To(Succeed())
	g.Expect(joined(first)).To(BeTrue(), "a join that begins anew forgets nothing")
}
