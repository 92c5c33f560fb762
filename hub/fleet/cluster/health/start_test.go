package health

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// fleet is a hub that has just started, with clusters that were Ready before. Its clock ticks once a second.
type fleet struct {
	now, reconnected, awake time.Time
	members                 []fleetMember
	// unknown counts the clusters that became Unknown; first and last are the seconds in which they did.
	unknown, first, last int
}

type fleetMember struct {
	ready  *metav1.Condition
	memory *Memory
	line   Line
	// renewed is when its lease was last renewed.
	renewed time.Time
	// due is when it is next reconciled if nothing happens.
	due time.Time
}

var fleetBegin = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func newFleet(size int) *fleet {
	f := &fleet{now: fleetBegin, members: make([]fleetMember, size)}
	for i := range f.members {
		f.members[i].ready = condition(isTrue, fleetBegin.Add(-time.Hour))
		f.members[i].renewed = fleetBegin.Add(-time.Minute)
	}
	return f
}

// begin reconciles each cluster for the first time.
func (f *fleet) begin() {
	for i := range f.members {
		f.look(i)
	}
}

// look reconciles a cluster because of an event, or because it is due.
func (f *fleet) look(i int) {
	m := &f.members[i]
	out := Decide(Input{
		Now: f.now, Ready: m.ready, Renewed: m.renewed, Line: m.line, Memory: m.memory, Awake: f.awake, Reconnected: f.reconnected,
		Options: Options{Period: 5 * time.Second, Grace: 40 * time.Second, StartupGrace: time.Minute, FirstGrace: time.Minute, LineGrace: DefaultLineGrace},
	})
	m.memory, m.due = &out.Memory, time.Time{}
	if out.Reconnected {
		f.reconnected = f.now
	}
	if out.RecheckAfter > 0 {
		m.due = f.now.Add(out.RecheckAfter)
	}
	if out.Ready != nil {
		m.ready = out.Ready
		f.last = f.second()
		if f.unknown++; f.unknown == 1 {
			f.first = f.last
		}
	}
}

func (f *fleet) second() int { return int(f.now.Sub(fleetBegin).Seconds()) }

// line opens or loses the line of a cluster.
func (f *fleet) line(i int, what string) {
	f.members[i].line = f.members[i].line.after(what, f.now)
	f.look(i)
}

// renew renews the lease of a cluster.
func (f *fleet) renew(i int) {
	f.members[i].renewed = f.now
	f.look(i)
}

// until advances the clock to a second, with the events of every second before.
func (f *fleet) until(second int, happens func(second int)) {
	for f.second() < second {
		f.now = f.now.Add(time.Second)
		if happens != nil {
			happens(f.second())
		}
		for i := range f.members {
			if due := f.members[i].due; !due.IsZero() && !f.now.Before(due) {
				f.look(i)
			}
		}
	}
}

// TestAHubThatStartsCallsNobodyUnknownWhoWaitsToBeLetIn reproduces a measurement with 5,000 agents: the hub admitted
// the last ones 110 s after it started, and had called 280 of them Unknown, at three writes each.
func TestAHubThatStartsCallsNobodyUnknownWhoWaitsToBeLetIn(t *testing.T) {
	t.Parallel()
	for name, comes := range map[string]func(f *fleet, i int){
		"by a line":  func(f *fleet, i int) { f.line(i, "up") },
		"by a lease": func(f *fleet, i int) { f.renew(i) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const size, seconds = 5000, 110
			g, f := NewWithT(t), newFleet(size)
			f.begin()
			next := 0
			f.until(seconds, func(second int) {
				for ; next < size*second/seconds; next++ {
					comes(f, next)
				}
				if name == "by a lease" {
					for i := second % 10; i < next; i += 10 {
						f.renew(i)
					}
				}
			})
			g.Expect(next).To(Equal(size))
			g.Expect(f.unknown).To(BeZero(), "the first one after %d s", f.first)
			if name == "by a line" {
				f.until(900, nil)
				g.Expect(f.unknown).To(BeZero())
			}
		})
	}
}

func TestAMemberThatIsGoneIsUnknownSoonAfterTheLastOneCameBack(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		// back is how many of ten clusters come back, one every this many seconds.
		back, every int
		want        int
	}{
		"nobody comes back":                     {0, 1, 60},
		"others come back at once":              {8, 1, 60},
		"others come back for a while":          {8, 10, 80 + 30},
		"the last one is a minute after others": {2, 50, 50 + 30}, // the second of them comes back when it is Unknown already
		"others come back all the time":         {9, 29, 9*29 + 30},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, f := NewWithT(t), newFleet(10)
			f.begin()
			f.until(600, func(second int) {
				if n := second / tc.every; second%tc.every == 0 && n <= tc.back {
					f.line(n-1, "up")
				}
			})
			g.Expect(f.first).To(Equal(tc.want))
		})
	}
}

// TestLinesThatBreakWhileOthersComeBack reproduces a measurement with 1,000 agents: a hub that had started called six of
// them Unknown, whose lines broke while the others came back, and wrote the status of all their applications.
func TestLinesThatBreakWhileOthersComeBack(t *testing.T) {
	t.Parallel()
	const size, seconds, gone = 1000, 40, 20
	g, f := NewWithT(t), newFleet(size)
	f.begin()
	next := 0
	f.until(120, func(second int) {
		for ; next < min(size, size*second/seconds); next++ {
			f.line(next, "up")
		}
		if i := size*(second-1)/seconds + 1; second < seconds && second%5 == 0 { // it came a second ago
			f.line(i, "lost")
		}
		if i := size*(second-9)/seconds + 1; second > 9 && second < seconds+8 && (second-8)%5 == 0 && second-8 != gone {
			f.line(i, "up")
		}
	})
	g.Expect(f.unknown).To(Equal(1), "the first one after %d s, the last one after %d s", f.first, f.last)
	g.Expect(f.last).To(Equal(seconds+10), "the one that did not come back, as soon as no other comes")

	f.line(1, "lost")
	f.until(130, nil)
	g.Expect(f.unknown).To(Equal(2))
	g.Expect(f.last).To(Equal(123), "later a lost line counts as soon as ever")
}

// TestABrokenLineIsAwaitedForFiveMinutesAtMost has members come back until the end of a start, and one lose its line shortly
// before that.
func TestABrokenLineIsAwaitedForFiveMinutesAtMost(t *testing.T) {
	t.Parallel()
	g, f := NewWithT(t), newFleet(299)
	f.begin()
	f.until(400, func(second int) {
		if second < 300 {
			f.line(second-1, "up")
		}
		if second == 294 {
			f.line(0, "lost")
		}
	})
	g.Expect(f.unknown).To(Equal(1))
	g.Expect(f.first).To(Equal(300))
}

func TestAStartEndsAfterFiveMinutes(t *testing.T) {
	t.Parallel()
	g, f := NewWithT(t), newFleet(100)
	f.begin()
	f.until(900, func(second int) {
		if i := second / 20; second%20 == 0 && i < 50 {
			f.line(i, "up") // one every twenty seconds, for a quarter of an hour
		}
	})
	g.Expect(f.first).To(Equal(300))
	g.Expect(f.last).To(Equal(300))
	g.Expect(f.unknown).To(Equal(100 - 15))
}

func TestAClusterThatDoesNotReturnProlongsNoStart(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		start   func(f *fleet)
		happens func(f *fleet, second int)
	}{
		"an agent that comes and goes": {happens: func(f *fleet, second int) {
			f.line(0, map[int]string{0: "up", 5: "lost"}[second%10])
		}},
		"an agent that loses its line and renews its lease": {happens: func(f *fleet, second int) {
			if second%7 == 0 {
				f.renew(0)
			}
		}},
		"clusters that join": {happens: func(f *fleet, second int) {
			if second%10 == 0 {
				f.members = append(f.members, fleetMember{})
				f.look(len(f.members) - 1)
				f.members[len(f.members)-1].ready = condition(isTrue, f.now)
				f.line(len(f.members)-1, "up")
			}
		}},
		"rare renewals of agents whose lines the leader before this one had": {
			start: func(f *fleet) {
				for i := range 80 {
					f.members[i].line = Line{}.after("up", fleetBegin.Add(-time.Hour))
				}
			},
			happens: func(f *fleet, second int) { f.renew(second % 80) },
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, f := NewWithT(t), newFleet(100)
			if tc.start != nil {
				tc.start(f)
			}
			f.begin()
			f.until(70, func(second int) { tc.happens(f, second) })
			g.Expect(f.members[99].ready.Status).To(Equal(isUnknown))
			g.Expect(f.last).To(Equal(60))
		})
	}
}

func TestLinesThatAreLostWithALeaderAreWaitedFor(t *testing.T) {
	t.Parallel()
	g, f := NewWithT(t), newFleet(1000)
	for i := range f.members {
		f.members[i].line = Line{}.after("up", fleetBegin.Add(-time.Hour))
	}
	f.begin()
	f.until(1, func(int) {
		for i := range f.members {
			f.line(i, "goodbye") // what a replica that is gone would have told about them
		}
	})
	f.until(100, func(second int) {
		for i := (second - 1) * 10; i < second*10; i++ {
			f.line(i, "up")
		}
	})
	g.Expect(f.unknown).To(BeZero())
}

func TestAHubThatWasStoppedWaitsLikewise(t *testing.T) {
	t.Parallel()
	g, f := NewWithT(t), newFleet(1000)
	f.begin()
	f.until(10, func(int) {
		for i := range f.members {
			f.line(i, "up")
		}
	})
	f.now = f.now.Add(time.Hour)
	f.awake = f.now
	for i := range f.members {
		f.line(i, "goodbye")
	}
	back := 0
	f.until(f.second()+100, func(int) {
		for range 10 {
			f.line(back, "up")
			back++
		}
	})
	g.Expect(f.unknown).To(BeZero())
}
