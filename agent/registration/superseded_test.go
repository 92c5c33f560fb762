package registration

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"errors"
	"math/big"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
)

func TestACertificateIsSupersededByALaterOneOfItsJoin(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	now := time.Now()
	begun := state{dir: t.TempDir()}
	own, _, err := begun.key(renewalKeyFile)
	g.Expect(err).NotTo(HaveOccurred())
	theirs, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	issue := func(join string, from time.Time, key *ecdsa.PrivateKey) *x509.Certificate {
		template := &x509.Certificate{
			SerialNumber: big.NewInt(1), NotBefore: from, NotAfter: from.Add(time.Hour),
			Subject: pkix.Name{Organization: []string{contract.AgentGroup, contract.JoinGroup(join)}},
		}
		der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
		g.Expect(err).NotTo(HaveOccurred())
		out, err := x509.ParseCertificate(der)
		g.Expect(err).NotTo(HaveOccurred())
		return out
	}
	cert := issue("a", now, theirs)
	for name, c := range map[string]struct {
		last *x509.Certificate
		want bool
	}{
		"it is the last one":                            {last: cert},
		"there is a later one":                          {last: issue("a", now.Add(time.Hour), theirs), want: true},
		"there is a later one, for its own renewal":     {last: issue("a", now.Add(time.Hour), own)},
		"the hub was restored and knows an earlier one": {last: issue("a", now.Add(-time.Hour), theirs)},
		"the later one is of a former join":             {last: issue("b", now.Add(time.Hour), theirs)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			value, err := json.Marshal(map[string]string{"pem": string(encodeCertificate(c.last))})
			g.Expect(err).NotTo(HaveOccurred())
			cluster := &clusterv1alpha1.Cluster{}
			cluster.Annotations = map[string]string{contract.CertificateAnnotation: string(value)}
			j := &joining{state: begun}
			g.Expect(j.superseded(cluster, cert)).To(Equal(c.want))
			g.Expect(j.superseded(nil, cert)).To(BeFalse(), "the hub did not say")
		})
	}
}

func TestTheKeyOfAJoinIsKeptElsewhereBeforeItIsUsed(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	kept, away := 0, error(nil)
	j := &joining{state: state{dir: t.TempDir()}, begun: func(context.Context) error {
		kept++
		return away
	}}
	first, err := j.key(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	again, err := j.key(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again.Equal(first)).To(BeTrue())
	g.Expect(kept).To(Equal(2), "whoever began may have been killed before it was kept")

	away = errors.New("the member does not answer")
	_, err = j.key(t.Context())
	g.Expect(err).To(MatchError(away))
	g.Expect(j.state.begunKey(keyFile)).NotTo(BeNil(), "the hub may have been asked with it")
	j.state = state{dir: t.TempDir()}
	_, err = j.key(t.Context())
	g.Expect(err).To(MatchError(away))
	g.Expect(j.state.begunKey(keyFile)).To(BeNil(), "nobody was asked with it")
}
