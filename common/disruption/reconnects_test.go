package disruption

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestHeardBy(t *testing.T) {
	t.Parallel()
	at := func(s int) time.Time { return noon.Add(time.Duration(s) * time.Second) }
	tests := map[string]struct {
		reconnected time.Time
		grace       time.Duration
		want        time.Time
	}{
		"nobody came back":                           {time.Time{}, time.Minute, at(60)},
		"the last one came back early":               {at(29), time.Minute, at(60)},
		"the last one came back late":                {at(107), time.Minute, at(137)},
		"they come back all the time":                {at(299), time.Minute, at(300)},
		"they came back to the hub before this one":  {at(-10), time.Minute, at(60)},
		"one came back long after the start":         {at(86400), time.Minute, at(300)},
		"the grace of a start is longer than that":   {at(599), 10 * time.Minute, at(600)},
		"a hub without lines has no grace at starts": {at(30), 0, at(0)},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(HeardBy(noon, tc.reconnected, tc.grace)).To(Equal(tc.want))
		})
	}
}

func TestReconnects(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := &Reconnects{}
	g.Expect(r.Last(noon)).To(BeZero())
	g.Expect(r.HeardBy(noon, noon, DefaultSilence)).To(Equal(noon.Add(time.Minute)))
	r.Note(noon.Add(50 * time.Second))
	g.Expect(r.HeardBy(noon, noon.Add(time.Minute), DefaultSilence)).To(Equal(noon.Add(80 * time.Second)))
	g.Expect(r.Last(noon.Add(time.Second))).To(Equal(noon.Add(time.Second)), "the clock was set back")
}
