package rollout

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
)

func TestEditsSettleFromWhenTheyWereSeen(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	before := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	now := before.Add(time.Minute)
	for said, want := range map[string]time.Time{
		"2026-01-02T03:05:04.9Z": now.Add(-100 * time.Millisecond),
		"2026-01-02T03:04:04Z":   now, // of an edit before
		"2026-01-02T03:05:06Z":   now, // by a clock that is ahead
		"yesterday":              now,
		"":                       now,
	} {
		b := &workv1alpha2.ResourceBinding{}
		b.Annotations = map[string]string{contract.TemplateSeenAnnotation: said}
		g.Expect(seenAt(b, before, now)).To(BeTemporally("==", want), said)
	}
}
