package health

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

// lineStep is what happens to one cluster and its line at a second of the hub's clock.
type lineStep struct {
	at int
	// line is what happened to the line just before: up, lost, goodbye; empty for nothing.
	line string
	// ready is the Ready status that the agent writes; renew says that it renews its lease.
	ready metav1.ConditionStatus
	renew bool
	// restart says that the hub has lost its memory, lines included; stopped says that it was not running until then.
	restart, stopped bool
	// suspect says that most lines were lost.
	suspect bool
	// want is Ready afterwards; wantReason is its reason, if that is checked; wantRecheck is the second of the next
	// reconcile, 0 if none is needed; wantUnstable is how often the line was lost, if people are told.
	want         metav1.ConditionStatus
	wantReason   string
	wantRecheck  int
	wantUnstable int
}

func TestDecideByLine(t *testing.T) {
	t.Parallel()
	options := Options{
		Period: 5 * time.Second, Grace: 40 * time.Second, StartupGrace: 60 * time.Second, FirstGrace: 60 * time.Second, LineGrace: 3 * time.Second,
	}
	start := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	const disconnected, stopped, never = clusterv1alpha1.ReasonAgentDisconnected, clusterv1alpha1.ReasonClusterStatusUnknown, clusterv1alpha1.ReasonClusterStatusNeverUpdated
	tests := map[string][]lineStep{
		"a line that is up is a member that is heard": {
			{at: 0, ready: isTrue, renew: true, want: isTrue, wantRecheck: 60},
			{at: 1, line: "up", want: isTrue, wantRecheck: 21},
			{at: 21, want: isTrue, wantRecheck: 41},
			{at: 41, want: isTrue, wantRecheck: 61},
			{at: 61, want: isTrue, wantRecheck: 81},
		},
		"a line that is lost makes the member unknown after three seconds": {
			{at: 0, ready: isTrue, renew: true, want: isTrue, wantRecheck: 60},
			{at: 1, line: "up", want: isTrue, wantRecheck: 21},
			{at: 20, line: "lost", want: isTrue, wantRecheck: 23},
			{at: 22, want: isTrue, wantRecheck: 23},
			{at: 23, want: isUnknown, wantReason: disconnected},
			{at: 300, want: isUnknown, wantReason: disconnected},
			{at: 301, line: "up", want: isUnknown},
			{at: 302, ready: isTrue, want: isTrue, wantRecheck: 322},
		},
		"what was heard before the line was lost is no sign of life": {
			{at: 0, ready: isTrue, renew: true, want: isTrue, wantRecheck: 60},
			{at: 1, line: "up", want: isTrue, wantRecheck: 21},
			{at: 19, renew: true, ready: isTrue, want: isTrue, wantRecheck: 39},
			{at: 20, line: "lost", want: isTrue, wantRecheck: 23},
			{at: 23, want: isUnknown, wantReason: disconnected},
		},
		"a member that is not ready becomes unknown as well": {
			{at: 0, ready: isFalse, want: isFalse, wantRecheck: 60},
			{at: 1, line: "up", want: isFalse, wantRecheck: 21},
			{at: 2, line: "lost", want: isFalse, wantRecheck: 5},
			{at: 5, want: isUnknown, wantReason: disconnected},
		},
		"a line that is back within three seconds leaves the member ready": {
			{at: 0, ready: isTrue, want: isTrue, wantRecheck: 60},
			{at: 1, line: "up", want: isTrue, wantRecheck: 21},
			{at: 20, line: "lost", want: isTrue, wantRecheck: 23},
			{at: 22, line: "up", want: isTrue, wantRecheck: 42},
			{at: 23, want: isTrue, wantRecheck: 43},
		},
		"a goodbye gives the member the usual grace": {
			{at: 0, ready: isTrue, want: isTrue, wantRecheck: 60},
			{at: 1, line: "up", want: isTrue, wantRecheck: 21},
			{at: 20, line: "goodbye", want: isTrue, wantRecheck: 60},
			{at: 59, want: isTrue, wantRecheck: 60},
			{at: 60, want: isUnknown, wantReason: stopped},
		},
		"an agent that was started anew without a line is judged by its lease": {
			{at: 0, ready: isTrue, want: isTrue, wantRecheck: 60},
			{at: 1, line: "up", want: isTrue, wantRecheck: 21},
			{at: 20, line: "goodbye", want: isTrue, wantRecheck: 60},
			{at: 25, renew: true, want: isTrue, wantRecheck: 65},
			{at: 60, renew: true, want: isTrue, wantRecheck: 100},
			{at: 99, want: isTrue, wantRecheck: 100},
			{at: 100, want: isUnknown, wantReason: stopped},
		},
		"an agent whose line cannot be opened again falls back to its lease in time": {
			{at: 0, ready: isTrue, want: isTrue, wantRecheck: 60},
			{at: 1, line: "up", want: isTrue, wantRecheck: 21},
			{at: 20, line: "lost", want: isTrue, wantRecheck: 23},
			{at: 22, renew: true, want: isTrue, wantRecheck: 62},
			{at: 32, renew: true, want: isTrue, wantRecheck: 72},
			{at: 71, want: isTrue, wantRecheck: 72},
			{at: 72, want: isUnknown, wantReason: stopped},
		},
		"a lease that is renewed too late is one of a member that comes back": {
			{at: 0, ready: isTrue, want: isTrue, wantRecheck: 60},
			{at: 1, line: "up", want: isTrue, wantRecheck: 21},
			{at: 20, line: "lost", want: isTrue, wantRecheck: 23},
			{at: 23, want: isUnknown, wantReason: disconnected},
			{at: 24, renew: true, want: isUnknown},
			{at: 25, ready: isTrue, want: isTrue, wantRecheck: 65},
			{at: 35, renew: true, want: isTrue, wantRecheck: 75},
			{at: 75, want: isUnknown, wantReason: stopped},
		},
		"after leases the line counts again": {
			{at: 0, ready: isTrue, want: isTrue, wantRecheck: 60},
			{at: 1, line: "up", want: isTrue, wantRecheck: 21},
			{at: 20, line: "lost", want: isTrue, wantRecheck: 23},
			{at: 22, renew: true, want: isTrue, wantRecheck: 62},
			{at: 30, line: "up", renew: true, want: isTrue, wantRecheck: 50},
			{at: 40, line: "lost", want: isTrue, wantRecheck: 43},
			{at: 43, want: isUnknown, wantReason: disconnected},
		},
		"a hub that starts waits for a minute": {
			{at: 0, ready: isTrue, renew: true, want: isTrue, wantRecheck: 60},
			{at: 1, line: "up", want: isTrue, wantRecheck: 21},
			{at: 20, restart: true, want: isTrue, wantRecheck: 80},
			{at: 79, want: isTrue, wantRecheck: 80},
			{at: 80, want: isUnknown, wantReason: stopped},
		},
		"a line that a new hub has seen itself is believed at once": {
			{at: 0, restart: true, ready: isTrue, want: isTrue, wantRecheck: 60},
			{at: 10, line: "up", want: isTrue, wantRecheck: 30},
			{at: 15, line: "lost", want: isTrue, wantRecheck: 18},
			{at: 18, want: isUnknown, wantReason: disconnected},
		},
		"a line from before the hub came to lead is believed after a minute": {
			{at: 0, line: "up", ready: isTrue, want: isTrue, wantRecheck: 20},
			{at: 10, line: "lost", want: isTrue, wantRecheck: 60},
			{at: 20, line: "up", want: isTrue, wantRecheck: 40},
			{at: 30, line: "lost", want: isTrue, wantRecheck: 33},
		},
		"the loss of a line that an earlier Cluster of the name had is nothing": {
			{at: 0, line: "lost", want: "", wantRecheck: 60},
			{at: 59, want: "", wantRecheck: 60},
			{at: 60, want: isUnknown, wantReason: never},
		},
		"a member that never reported keeps its longer grace": {
			{at: 0, want: "", wantRecheck: 60},
			{at: 10, line: "up", want: "", wantRecheck: 40},
			{at: 20, line: "lost", want: "", wantRecheck: 80},
			{at: 80, want: isUnknown, wantReason: never},
		},
		"a hub that was stopped for a while suspects itself": {
			{at: 0, ready: isTrue, want: isTrue, wantRecheck: 60},
			{at: 1, line: "up", want: isTrue, wantRecheck: 21},
			{at: 600, stopped: true, want: isTrue, wantRecheck: 620},
			{at: 605, line: "lost", want: isTrue, wantRecheck: 660},
			{at: 630, line: "up", want: isTrue, wantRecheck: 650},
			{at: 640, line: "lost", want: isTrue, wantRecheck: 643},
			{at: 643, want: isUnknown, wantReason: disconnected},
		},
		"a hub that has much to do does not": {
			{at: 0, ready: isTrue, want: isTrue, wantRecheck: 60},
			{at: 1, line: "up", want: isTrue, wantRecheck: 21},
			{at: 20, line: "lost", want: isTrue, wantRecheck: 23},
			{at: 35, want: isUnknown, wantReason: disconnected},
		},
		"most lines lost at once give all the usual grace": {
			{at: 0, ready: isTrue, want: isTrue, wantRecheck: 60},
			{at: 1, line: "up", want: isTrue, wantRecheck: 21},
			{at: 20, line: "lost", want: isTrue, wantRecheck: 23},
			{at: 23, suspect: true, want: isTrue, wantRecheck: 60},
			{at: 60, suspect: true, want: isUnknown, wantReason: stopped},
		},
		"a line that is lost again and again is told once": {
			{at: 0, ready: isTrue, want: isTrue, wantRecheck: 60},
			{at: 1, line: "up", want: isTrue, wantRecheck: 21},
			{at: 10, line: "lost", want: isTrue, wantRecheck: 13},
			{at: 11, line: "up", want: isTrue, wantRecheck: 31},
			{at: 20, line: "lost", want: isTrue, wantRecheck: 23},
			{at: 21, line: "up", want: isTrue, wantRecheck: 41},
			{at: 30, line: "goodbye", want: isTrue, wantRecheck: 70},
			{at: 31, line: "up", want: isTrue, wantRecheck: 51},
			{at: 40, line: "lost", want: isTrue, wantRecheck: 43},
			{at: 41, line: "up", want: isTrue, wantRecheck: 61},
			{at: 50, line: "lost", want: isTrue, wantRecheck: 53},
			{at: 51, line: "up", want: isTrue, wantRecheck: 71},
			{at: 60, line: "lost", want: isTrue, wantRecheck: 63, wantUnstable: 5},
			{at: 61, line: "up", want: isTrue, wantRecheck: 81},
			{at: 70, line: "lost", want: isTrue, wantRecheck: 73},
			{at: 71, line: "up", want: isTrue, wantRecheck: 91},
		},
	}
	for name, story := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			var ready *metav1.Condition
			var renewed time.Time
			var memory *Memory
			var line Line
			var awake time.Time
			for _, s := range story {
				now := start.Add(time.Duration(s.at) * time.Second)
				if s.restart {
					memory, line = nil, Line{}
				}
				if s.stopped {
					awake = now
				}
				line = line.after(s.line, now)
				if s.ready != "" {
					ready = condition(s.ready, now)
				}
				if s.renew {
					renewed = now
				}
				out := Decide(Input{Now: now, Ready: ready, Renewed: renewed, Line: line, Suspect: s.suspect, Memory: memory, Awake: awake, Options: options})
				memory = &out.Memory
				if out.Ready != nil {
					ready = out.Ready
				}
				g.Expect(statusOf(ready)).To(Equal(s.want), "second %d", s.at)
				if s.wantReason != "" {
					g.Expect(ready.Reason).To(Equal(s.wantReason), "second %d", s.at)
				}
				wantAfter := time.Duration(0)
				if s.wantRecheck != 0 {
					wantAfter = time.Duration(s.wantRecheck-s.at) * time.Second
				}
				g.Expect(out.RecheckAfter).To(Equal(wantAfter), "second %d", s.at)
				g.Expect(out.Unstable).To(Equal(s.wantUnstable), "second %d", s.at)
			}
		})
	}
}

// after returns a line to which something happened.
func (l Line) after(what string, now time.Time) Line {
	switch what {
	case "up":
		l.Known, l.Up, l.Since = true, true, now
	case "lost", "goodbye":
		l.Known, l.Up, l.Lost, l.Goodbye = true, false, now, what == "goodbye"
	}
	return l
}
