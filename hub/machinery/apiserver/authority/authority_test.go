package authority

import (
	"crypto/x509"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// two creates an authority, and its successor in the same second.
func two(t *testing.T) (before, after *x509.Certificate) {
	t.Helper()
	g, now := NewWithT(t), time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	first, _, err := Make(&x509.Certificate{}, now)
	g.Expect(err).NotTo(HaveOccurred())
	second, _, err := Make(first, now)
	g.Expect(err).NotTo(HaveOccurred())
	return first, second
}

func TestABundleSaysHowFarTheExchangeIs(t *testing.T) {
	t.Parallel()
	before, after := two(t)
	for name, tc := range map[string]struct {
		bundle   Bundle
		want     Phase
		old, new *x509.Certificate
	}{
		"one authority":                {Bundle{before}, Steady, nil, before},
		"the old one signs":            {Bundle{before, after}, Overlap, before, after},
		"the new one signs":            {Bundle{after, before}, Switched, before, after},
		"the new one is the only one":  {Bundle{after}, Steady, nil, after},
		"a switch is the other way on": {Bundle{before, after}.Reversed(), Switched, before, after},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			read, err := Parse(tc.bundle.Encode())
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(read.Phase()).To(Equal(tc.want))
			g.Expect(read.New().Equal(tc.new)).To(BeTrue())
			g.Expect(read.Old().Equal(tc.old)).To(BeTrue())
		})
	}
}

func TestAnInvalidBundleIsRefused(t *testing.T) {
	t.Parallel()
	before, after := two(t)
	for name, data := range map[string][]byte{
		"nothing":          nil,
		"no certificate":   []byte("-----BEGIN CERTIFICATE-----\nYQ==\n-----END CERTIFICATE-----\n"),
		"more than can be": Bundle{before, after, before}.Encode(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse(data)
			NewWithT(t).Expect(err).To(HaveOccurred())
		})
	}
}

func TestTheKeyOfAnAuthorityIsFoundAmongOthers(t *testing.T) {
	t.Parallel()
	g, now := NewWithT(t), time.Now()
	first, firstKey, err := Make(&x509.Certificate{}, now)
	g.Expect(err).NotTo(HaveOccurred())
	second, secondKey, err := Make(first, now)
	g.Expect(err).NotTo(HaveOccurred())
	data, err := EncodeKeys(firstKey, secondKey)
	g.Expect(err).NotTo(HaveOccurred())
	found, err := KeyOf(second, data)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(found.Equal(secondKey)).To(BeTrue())
	third, _, err := Make(second, now)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = KeyOf(third, data)
	g.Expect(err).To(MatchError(ContainSubstring(third.Subject.CommonName)))
}

func TestDecide(t *testing.T) {
	t.Parallel()
	before, after := two(t)
	one, overlap, switched := Bundle{before}, Bundle{before, after}, Bundle{after, before}
	oldHash, newHash := Hash(before), Hash(after)
	behind := Agent{Cluster: "behind", Trusts: []string{oldHash}, Issuer: oldHash}
	learned := Agent{Cluster: "learned", Trusts: []string{oldHash, newHash}, Issuer: oldHash}
	renewed := Agent{Cluster: "renewed", Trusts: []string{newHash, oldHash}, Issuer: newHash}
	silent := Agent{Cluster: "silent"}
	for name, tc := range map[string]struct {
		in      Input
		done    bool
		wrong   bool
		waiting []string
	}{
		"begin":                             {in: Input{Step: Begin, Bundle: one}},
		"begin again":                       {in: Input{Step: Begin, Bundle: overlap}, done: true},
		"begin before the end":              {in: Input{Step: Begin, Bundle: switched}, wrong: true},
		"switch without another":            {in: Input{Step: Switch, Bundle: one}, wrong: true},
		"switch again":                      {in: Input{Step: Switch, Bundle: switched}, done: true},
		"switch before the hub knows":       {in: Input{Step: Switch, Bundle: overlap, Served: one}, wrong: true},
		"switch when all know":              {in: Input{Step: Switch, Bundle: overlap, Served: overlap, Agents: []Agent{learned}}},
		"switch when some do not":           {in: Input{Step: Switch, Bundle: overlap, Served: overlap, Agents: []Agent{silent, learned, behind}}, waiting: []string{"behind", "silent"}},
		"switch of a hub without clusters":  {in: Input{Step: Switch, Bundle: overlap, Served: overlap}},
		"finish of what did not begin":      {in: Input{Step: Finish, Bundle: one}, done: true},
		"finish before the switch":          {in: Input{Step: Finish, Bundle: overlap}, wrong: true},
		"finish before the hub knows":       {in: Input{Step: Finish, Bundle: switched, Served: overlap}, wrong: true},
		"finish when all have certificates": {in: Input{Step: Finish, Bundle: switched, Served: switched, Agents: []Agent{renewed}}},
		"finish when some have not":         {in: Input{Step: Finish, Bundle: switched, Served: switched, Agents: []Agent{silent, renewed, learned}}, waiting: []string{"learned", "silent"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			d := Decide(tc.in)
			g.Expect(d.Done).To(Equal(tc.done))
			g.Expect(d.Wrong != "").To(Equal(tc.wrong))
			var waiting []string
			for _, w := range d.Waiting {
				waiting = append(waiting, w.Cluster)
			}
			g.Expect(waiting).To(Equal(tc.waiting))
		})
	}
}
