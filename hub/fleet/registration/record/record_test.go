package record

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"fairlead.dev/common/contract"
)

// issue returns the certificate of an agent that belongs to a join, or to none.
func issue(t *testing.T, serial int64, join string, from time.Time) Certificate {
	t.Helper()
	g := NewWithT(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	subject := pkix.Name{CommonName: contract.AgentUser("edge-1"), Organization: []string{contract.AgentGroup}}
	if join != "" {
		subject.Organization = append(subject.Organization, contract.JoinGroup(join))
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), Subject: subject, NotBefore: from, NotAfter: from.Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	g.Expect(err).NotTo(HaveOccurred())
	out, err := Of(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	g.Expect(err).NotTo(HaveOccurred())
	return out
}

func TestTheLastCertificateOfTheJoinIsTheOneToRecord(t *testing.T) {
	t.Parallel()
	now := time.Now()
	before := issue(t, 1, "a", now)
	short := before
	short.PEM = "" // as written by an older hub
	for name, c := range map[string]struct {
		issued Certificate
		before *Certificate
		join   string
		want   bool
	}{
		"the first":                                 {issued: before, join: "a", want: true},
		"the same again":                            {issued: before, before: &before, join: "a"},
		"a later one of the join":                   {issued: issue(t, 2, "a", now.Add(time.Hour)), before: &before, join: "a", want: true},
		"an earlier one of the join":                {issued: issue(t, 2, "a", now.Add(-time.Hour)), before: &before, join: "a"},
		"one of the next join":                      {issued: issue(t, 2, "b", now.Add(time.Hour)), before: &before, join: "b", want: true},
		"one of the next join, by a clock put back": {issued: issue(t, 2, "b", now.Add(-time.Hour)), before: &before, join: "b", want: true},
		"one of a join that ended":                  {issued: issue(t, 2, "b", now.Add(time.Hour)), before: &before, join: "a"},
		"the first, of a join that ended":           {issued: before, join: "b"},
		"a later one, where no join is known":       {issued: issue(t, 2, "", now.Add(time.Hour)), before: &before, want: true},
		"an earlier one than an older hub knew":     {issued: issue(t, 2, "a", now.Add(-time.Hour)), before: &short, join: "a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(IsNext(c.issued, c.before, c.join)).To(Equal(c.want))
		})
	}
}
