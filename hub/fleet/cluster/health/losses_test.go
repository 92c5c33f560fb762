package health

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestAMemberWhoseLineComesAndGoesIsBelievedMoreSlowly(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	in := Input{Ready: condition(isTrue, now), Options: Options{
		Period: 5 * time.Second, Grace: 40 * time.Second, StartupGrace: time.Minute, FirstGrace: time.Minute, LineGrace: 3 * time.Second,
	}}
	look := func(after time.Duration, what string) Decision {
		now = now.Add(after)
		in.Now, in.Line = now, in.Line.after(what, now)
		if what == "up" {
			in.Ready = condition(isTrue, now)
		}
		out := Decide(in)
		in.Memory = &out.Memory
		if out.Ready != nil {
			in.Ready = out.Ready
		}
		return out
	}
	look(0, "")
	for range 10 { // the agent was restarted or killed, which nobody would notice without a line
		g.Expect(look(time.Second, "up").Settling).To(BeFalse())
		look(time.Second, "lost")
		g.Expect(look(3*time.Second, "").Ready).NotTo(BeNil())
	}
	for _, want := range []bool{false, false, true} { // not away for long yet, then once, then twice
		g.Expect(look(time.Second, "up").Settling).To(Equal(want))
		look(time.Second, "lost")
		g.Expect(look(3*time.Second, "").Ready).NotTo(BeNil())
		look(40*time.Second, "")
	}
	out := look(time.Second, "up")
	g.Expect(out.Settling).To(BeTrue())
	g.Expect(out.RecheckAfter).To(Equal(20 * time.Second))
	look(20*time.Second, "")
	look(20*time.Second, "")
	g.Expect(look(20*time.Second, "").Settling).To(BeFalse(), "a line that stayed for a minute is believed")
}

func TestMostLinesAreLostAtOnce(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	start := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	lost := func(second int, up bool) Line {
		return Line{Known: true, Up: up, Lost: start.Add(time.Duration(second) * time.Second)}
	}
	up := Line{Known: true, Up: true, Since: start}
	goodbye := lost(60, false)
	goodbye.Goodbye = true
	for name, tc := range map[string]struct {
		lines []Line
		want  bool
	}{
		"none":                                  {nil, false},
		"the only one":                          {[]Line{lost(60, false)}, false},
		"one of two":                            {[]Line{lost(60, false), up}, false},
		"both":                                  {[]Line{lost(60, false), lost(65, false)}, true},
		"two of four":                           {[]Line{lost(60, false), lost(65, false), up, up}, false},
		"three of five":                         {[]Line{lost(60, false), lost(65, false), lost(51, false), up, up}, true},
		"three of five, most of which are back": {[]Line{lost(60, false), lost(65, true), lost(51, true), up, up}, true},
		"others that were lost before do not count":  {[]Line{lost(60, false), lost(40, false), lost(1, false), up}, false},
		"those that were lost before and are up do":  {[]Line{lost(60, false), lost(61, false), lost(1, true), up}, false},
		"goodbyes are not the fault of a network":    {[]Line{lost(60, false), goodbye, goodbye, up}, false},
		"the others of two, of which one went early": {[]Line{lost(60, false), lost(61, false), lost(1, false)}, true},
	} {
		g.Expect(NewLineLosses(tc.lines).MostAt(start.Add(time.Minute))).To(Equal(tc.want), name)
	}
	g.Expect(LineLosses{}.MostAt(start)).To(BeFalse())
}
