package setup

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"fairlead.dev/agent/connect"
)

func TestTheHubIsToldWhyThereIsNoLineOnceItLasts(t *testing.T) {
	t.Parallel()
	started := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return started.Add(time.Duration(seconds) * time.Second) }
	for name, tc := range map[string]struct {
		line   connect.Line
		reason string
		now    time.Time
		want   string
	}{
		"there was none yet":          {reason: "refused", now: at(59)},
		"there is none for a minute":  {reason: "refused", now: at(60), want: "refused"},
		"there is one":                {line: connect.Line{Up: true, Opened: at(1)}, reason: "refused", now: at(100)},
		"it was lost a moment ago":    {line: connect.Line{Opened: at(1), Lost: at(100)}, reason: "refused", now: at(130)},
		"it was lost a minute ago":    {line: connect.Line{Opened: at(1), Lost: at(100)}, reason: "refused", now: at(160), want: "refused"},
		"nobody knows why":            {now: at(100)},
		"why is told in a long story": {reason: strings.Repeat("a", 1000) + "\xff", now: at(100), want: strings.Repeat("a", 296) + " …"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(whyNoLine(tc.line, tc.reason, started, tc.now)).To(Equal(tc.want))
		})
	}
	s := &hubContact{options: Options{Line: LineOptions{None: "told not to"}}}
	NewWithT(t).Expect(s.noLine()).To(Equal("told not to"), "that is known at once")
}
