package rules

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestAWorkWaitsUntilItIsKnownWhatBelongsToTheMember(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		journaled, kept, read, late bool
		wantWhy                     string
		wantLasts                   bool
	}{
		"by the journal, as the hub said last":         {journaled: true, kept: true},
		"by the journal, and nobody ever said":         {journaled: true, wantWhy: neverRead},
		"by the journal, and nobody ever said so late": {journaled: true, late: true, wantWhy: neverRead},
		"by the hub, which said before":                {kept: true, wantWhy: notReadYet},
		"by the hub, which said before, and is late":   {kept: true, late: true},
		"by the hub, which never said":                 {wantWhy: notReadYet},
		"by the hub, which never said, and is late":    {late: true, wantWhy: notReadYet, wantLasts: true},
		"the hub has said":                             {read: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			why, lasts := awaited(tc.journaled, tc.kept, tc.read, tc.late)
			g.Expect(why).To(Equal(tc.wantWhy))
			g.Expect(lasts).To(Equal(tc.wantLasts))
		})
	}
}
