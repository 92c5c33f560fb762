package registration

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestRenewalIsInTheLastThirdAndNeverAtItsEnd(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	until := from.Add(270 * 24 * time.Hour)
	g.Expect(renewalAt(from, until, 0)).To(Equal(from.Add(180 * 24 * time.Hour)))
	g.Expect(renewalAt(from, until, 0.5)).To(Equal(from.Add(210 * 24 * time.Hour)))
	g.Expect(renewalAt(from, until, 1)).To(Equal(from.Add(240 * 24 * time.Hour)))
}

func TestExpired(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	now := time.Unix(1000, 0)
	g.Expect(expired(now.Add(time.Second), now)).To(BeFalse())
	g.Expect(expired(now, now)).To(BeTrue())
	g.Expect(expired(now.Add(-time.Second), now)).To(BeTrue())
}
