package presence

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	clocktesting "k8s.io/utils/clock/testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/contract"
)

func TestWhenTheLeaseIsRenewed(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	at := func(second float64) time.Time { return start.Add(time.Duration(second * float64(time.Second))) }
	usual := pace{interval: 10 * time.Second, grace: time.Second, renewed: at(100), opened: at(50)}
	failed := usual
	failed.retry = 4 * time.Second
	line := Line{Up: true, Presence: contract.LineIsPresence, Opened: at(50)}
	lost := func(second float64) Line {
		return Line{Presence: contract.LineIsPresence, Opened: at(50), Lost: at(second)}
	}
	for name, tc := range map[string]struct {
		pace pace
		line Line
		want time.Time
	}{
		"the first time":                                        {pace{interval: time.Second}, Line{}, time.Time{}},
		"without a line":                                        {usual, Line{}, at(110)},
		"while the line is the sign of life":                    {usual, line, at(700)},
		"when a line was opened":                                {usual, Line{Up: true, Presence: contract.LineIsPresence, Opened: at(60)}, time.Time{}},
		"when a line was opened, and the hub wants the lease":   {usual, Line{Up: true, Presence: contract.LeaseIsPresence, Opened: at(60)}, time.Time{}},
		"while the hub wants the lease":                         {usual, Line{Up: true, Presence: contract.LeaseIsPresence, Opened: at(50)}, at(110)},
		"of an old hub that says nothing":                       {usual, Line{Up: true, Opened: at(50)}, at(110)},
		"when the line was lost since":                          {usual, lost(300), at(301)},
		"when the line was lost just after a renewal":           {usual, lost(100), at(101)},
		"when the line was lost, and it has been renewed since": {usual, lost(99), at(110)},
		"when it failed":                                        {failed, Line{}, at(104)},
		"when it failed, and the line is the sign of life":      {failed, line, at(104)},
		"when it failed, and the line was lost":                 {failed, lost(300), at(104)},
		"when it failed, and a line was opened":                 {failed, Line{Up: true, Opened: at(60)}, time.Time{}},
	} {
		NewWithT(t).Expect(tc.pace.due(tc.line)).To(Equal(tc.want), name)
	}
}

// reads is a hub that counts how often it is asked.
type reads struct {
	client.Reader

	count   int
	err     error
	session string // whose the lease is
}

func (r *reads) Get(_ context.Context, _ client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	r.count++
	obj.SetAnnotations(map[string]string{contract.SessionAnnotation: r.session})
	return r.err
}

func TestTheLeaseRestsWhileTheLineIsOpen(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	start := time.Unix(1000, 0)
	clk := clocktesting.NewFakeClock(start)
	trust := Trust{}
	heard := 0
	line := Line{Up: true, Presence: contract.LineIsPresence, Opened: start}
	r := &leaseRenewer{
		session: "s", seen: map[string]string{contract.SessionAnnotation: "s"}, clock: clk, interval: 10 * time.Second,
		trust: func() Trust { return trust }, line: func() (Line, <-chan struct{}) { return line, nil }, heard: func() { heard++ },
	}
	hub := &reads{session: "s"}
	r.reader = hub
	pace := pace{interval: r.interval, grace: time.Second, renewed: start, opened: start}
	waited := func(step time.Duration) time.Duration {
		done := make(chan struct{})
		began := clk.Now()
		go func() { defer close(done); r.wait(t.Context(), pace) }()
		for {
			select {
			case <-done:
				return clk.Since(began)
			default:
				if clk.HasWaiters() {
					clk.Step(step)
				}
			}
		}
	}
	g.Expect(waited(10 * time.Second)).To(Equal(restEvery))
	g.Expect(heard).To(Equal(60), "it says all the time that it is alive")
	g.Expect(hub.count).To(Equal(9), "and asks every minute whether the hub answers")
	pace.renewed = clk.Now()
	hub.err = errors.New("connection refused")
	g.Expect(waited(10*time.Second)).To(Equal(askEvery), "that is told by a renewal")

	pace.renewed = clk.Now()
	hub.err, hub.session = nil, "another"
	g.Expect(waited(10*time.Second)).To(Equal(askEvery), "somebody else passes for this cluster: the hub hears from both")
	r.seen[contract.SessionAnnotation], hub.session = "s", "s" // as the answer to the renewal says

	pace.renewed = clk.Now()
	trust = Trust{Authorities: []string{"a"}, Issuer: "a"}
	g.Expect(waited(10*time.Second)).To(BeZero(), "there is something to tell")
	r.seen[contract.TrustAnnotation], r.seen[contract.IssuerAnnotation] = "a", "a"

	pace.renewed = clk.Now().Add(-2 * pace.grace)
	changed := make(chan struct{})
	r.line = func() (Line, <-chan struct{}) {
		select {
		case <-changed:
			return Line{Lost: clk.Now().Add(-pace.grace)}, nil
		default:
			close(changed)
			return line, changed
		}
	}
	g.Expect(waited(0)).To(BeZero(), "the line was lost meanwhile")
}
