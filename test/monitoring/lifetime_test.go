package monitoring

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"
)

// TestACertificateEndsSoonByItsLifetime has certificates that somebody renews by hand, and some that renew themselves in time.
func TestACertificateEndsSoonByItsLifetime(t *testing.T) {
	t.Parallel()
	const hour, day = 3600, 86400
	rules, err := Rules()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	rule := rules[slices.IndexFunc(rules, func(r Rule) bool { return r.Alert == "FairleadMemberCertificateEndsSoon" })]
	for name, tc := range map[string]struct {
		remaining, lifetime float64
		fires               bool
	}{
		"a year, of which a person has a week left":     {7 * day, 365 * day, true},
		"a year, of which 5% remain":                    {18 * day, 365 * day, false},
		"a week, renewed at two thirds":                 {7 * day / 3, 7 * day, false},
		"a week, that was not renewed":                  {day / 2, 7 * day, true},
		"a day, renewed at four fifths":                 {5 * hour, day, false},
		"a day, that was not renewed":                   {hour, day, true},
		"a month, renewed as late as a kubelet does it": {3.1 * day, 30 * day, false},
		"a day, that has expired":                       {-hour, day, true},
		"an agent that does not tell it, in two days":   {1.9 * day, 0, true},
		"an agent that does not tell it, in three":      {3 * day, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// Beside another, of which the lifetime is known and much remains.
			all := append(memberCertificate("edge-1", tc.remaining, tc.lifetime), memberCertificate("edge-2", 300*day, 365*day)...)
			fired := newPrometheus(t, warm, all).at(t, rule.Expr, warm)
			if !tc.fires {
				NewWithT(t).Expect(fired).To(BeEmpty())
				return
			}
			NewWithT(t).Expect(fired).To(HaveLen(1))
			NewWithT(t).Expect(fired[0].F).To(Equal(tc.remaining), "how long it holds")
		})
	}
}
