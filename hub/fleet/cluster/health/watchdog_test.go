package health

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestAWatchdogTellsAStoppedHubFromABusyOne(t *testing.T) {
	t.Parallel()
	const period, grace = 5 * time.Second, 40 * time.Second
	start := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	tests := map[string]struct {
		play func(Watchdog) Watchdog
		want time.Time
	}{
		"it was just started":             {func(p Watchdog) Watchdog { return p.Look(at(100), period) }, time.Time{}},
		"it beats":                        {func(p Watchdog) Watchdog { return p.Tick(at(0), period).Tick(at(5), period).Look(at(10), period) }, time.Time{}},
		"it stopped, and beats":           {func(p Watchdog) Watchdog { return p.Tick(at(0), period).Tick(at(6), period).Tick(at(7), period) }, at(6)},
		"it stopped, and somebody looks":  {func(p Watchdog) Watchdog { return p.Tick(at(0), period).Look(at(60), period).Tick(at(61), period) }, at(60)},
		"it stopped twice":                {func(p Watchdog) Watchdog { return p.Tick(at(0), period).Tick(at(6), period).Look(at(20), period) }, at(20)},
		"the API answers slowly":          {func(p Watchdog) Watchdog { return p.Answered(at(0), at(20), grace) }, time.Time{}},
		"the API did not answer for long": {func(p Watchdog) Watchdog { return p.Answered(at(0), at(21), grace) }, at(21)},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(tc.play(Watchdog{}).Awake).To(Equal(tc.want))
		})
	}
}

// TestAWatchdogGoesByTheWallClock: the monotonic clock stands still while a machine is suspended.
func TestAWatchdogGoesByTheWallClock(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	now := time.Now()
	g.Expect(now).NotTo(Equal(now.Round(0)), "it has a monotonic reading")
	g.Expect(Watchdog{}.Tick(now, time.Second).ticked).To(Equal(now.Round(0)))
	g.Expect(Watchdog{ticked: now.Add(-time.Minute)}.Look(now, time.Second).Awake).To(Equal(now.Round(0)))
	g.Expect(Watchdog{}.Answered(now.Add(-time.Minute), now, time.Second).Awake).To(Equal(now.Round(0)))
}

func TestAWatchdogForgetsWhatAClockSaidThatWasAhead(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	noon := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	w := Watchdog{}.Tick(noon, time.Minute).Tick(noon.Add(24*time.Hour), time.Minute)
	g.Expect(w.Awake).To(Equal(noon.Add(24 * time.Hour)))
	g.Expect(w.Look(noon.Add(time.Second), time.Minute).Awake).To(Equal(noon.Add(time.Second)))
}
