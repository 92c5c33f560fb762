package presence

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"fairlead.dev/agent/outage"
	"fairlead.dev/common/contract"
)

func TestALeaseThatIsKnownIsUpdated(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	hub := &leases{takes: []string{contract.SessionAnnotation}, answered: map[string]string{"owner": "hub"}}
	now := clocktesting.NewFakeClock(time.Unix(1000, 0))
	r := &leaseRenewer{hubClient: hub, reader: hub, cluster: "edge-1", session: "s", duration: time.Minute, interval: time.Minute, clock: now}
	g.Expect(r.renew(t.Context())).To(Succeed())
	g.Expect(hub.updates).To(BeEmpty(), "of a lease that was never read only what is said is written")

	now.Step(10 * time.Second)
	g.Expect(r.renew(t.Context())).To(Succeed())
	g.Expect(hub.updates).To(HaveLen(1))
	renewed := hub.updates[0]
	g.Expect(renewed.ResourceVersion).To(Equal("1"), "the one that the last renewal left")
	g.Expect(renewed.Annotations).To(Equal(map[string]string{"owner": "hub", contract.SessionAnnotation: "s"}), "the rest is as it was")
	g.Expect(*renewed.Spec.HolderIdentity).To(Equal("edge-1"))
	g.Expect(*renewed.Spec.LeaseDurationSeconds).To(Equal(int32(60)))
	g.Expect(renewed.Spec.RenewTime.Time).To(BeTemporally("==", now.Now()))

	hub.version, hub.answered["owner"] = 9, "another"
	g.Expect(r.renew(t.Context())).To(Succeed(), "what somebody else wrote is read anew")
	g.Expect(hub.updates).To(HaveLen(2))
	g.Expect(hub.updates[1].ResourceVersion).To(Equal("9"))
	g.Expect(hub.answered).To(HaveKeyWithValue("owner", "another"))

	hub.version = 5
	restored := (*RestoredError)(nil)
	g.Expect(errors.As(r.renew(t.Context()), &restored)).To(BeTrue())
	g.Expect(*restored).To(Equal(RestoredError{Whose: "hub", Left: "10", Found: "5"}))
	g.Expect(hub.updates).To(HaveLen(2), "nothing is written to it")
}

func TestARenewalWithoutAnAnswerMayHaveLanded(t *testing.T) {
	t.Parallel()
	began := time.Unix(1000, 0)
	for name, tc := range map[string]struct {
		lands  bool
		after  time.Duration
		change func(*leases, *leaseRenewer, *Line)
		writes int
	}{
		"it landed a moment ago":          {lands: true, after: time.Second, writes: 1},
		"it landed long ago":              {lands: true, after: time.Minute, writes: 2},
		"it did not land":                 {after: time.Second, writes: 1},
		"it did not land and is long ago": {after: time.Minute, writes: 1},
		"there is more to tell":           {true, time.Second, func(_ *leases, r *leaseRenewer, _ *Line) { r.version = "v2" }, 2},
		"the line was lost since":         {true, time.Second, func(_ *leases, _ *leaseRenewer, l *Line) { l.Lost = began.Add(time.Millisecond) }, 2},
		"the line was opened since":       {true, time.Second, func(_ *leases, _ *leaseRenewer, l *Line) { l.Opened = began.Add(time.Millisecond) }, 2},
		"it is to rest now":               {true, time.Second, func(_ *leases, r *leaseRenewer, _ *Line) { r.resting = true }, 2},
		"the hub does not show it":        {true, time.Second, func(l *leases, _ *leaseRenewer, _ *Line) { l.unread = errors.New("forbidden") }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			hub := &leases{takes: []string{contract.SessionAnnotation, contract.AgentVersionAnnotation}, answered: map[string]string{}, busy: true, lands: tc.lands}
			now := clocktesting.NewFakeClock(began)
			r := &leaseRenewer{hubClient: hub, reader: hub, cluster: "edge-1", session: "s", duration: time.Minute, interval: time.Millisecond, clock: now}
			line := Line{Opened: began.Add(-time.Hour)}
			g.Expect(r.renewOrConfirm(t.Context(), line)).To(MatchError(context.DeadlineExceeded))
			hub.busy, r.interval = false, 10*time.Second
			now.Step(tc.after)
			if tc.change != nil {
				tc.change(hub, r, &line)
			}

			g.Expect(r.renewOrConfirm(t.Context(), line)).To(Succeed())

			g.Expect(hub.reads).To(HaveExactElements("0"), "it looks, at what costs the hub least")
			g.Expect(hub.version).To(Equal(tc.writes))
			now.Step(time.Second)
			g.Expect(r.renewOrConfirm(t.Context(), line)).To(Succeed())
			g.Expect(hub.version).To(Equal(tc.writes+1), "it goes on from what it saw")
			g.Expect(hub.reads).To(HaveLen(1), "nothing contradicted it")
		})
	}
}

func TestARenewalOfAnotherIsNotTakenForOnesOwn(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	hub := &leases{takes: []string{contract.SessionAnnotation}, answered: map[string]string{}, busy: true, lands: true}
	now := clocktesting.NewFakeClock(time.Unix(1000, 0))
	r := &leaseRenewer{hubClient: hub, reader: hub, cluster: "edge-1", session: "s", duration: time.Minute, interval: time.Millisecond, clock: now}
	g.Expect(r.renewOrConfirm(t.Context(), Line{})).To(MatchError(context.DeadlineExceeded))
	hub.answered[contract.SessionAnnotation] = "another"
	hub.busy, r.interval = false, 10*time.Second

	g.Expect(r.renewOrConfirm(t.Context(), Line{})).To(Succeed())

	g.Expect(hub.answered).To(HaveKeyWithValue(contract.SessionAnnotation, "s"))
}

func TestAHubThatIsLateIsGivenMoreTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		hub := &leases{takes: []string{contract.SessionAnnotation}, answered: map[string]string{}, busy: true}
		r := &leaseRenewer{hubClient: hub, reader: hub, cluster: "edge-1", session: "s", duration: time.Minute, interval: 10 * time.Second, clock: clock.RealClock{}}
		for _, want := range []time.Duration{10 * time.Second, 20 * time.Second, 30 * time.Second, 30 * time.Second} {
			began := time.Now()
			g.Expect(r.renewOrConfirm(t.Context(), Line{})).To(MatchError(context.DeadlineExceeded))
			g.Expect(time.Since(began)).To(Equal(want))
		}
		hub.busy = false
		g.Expect(r.renewOrConfirm(t.Context(), Line{})).To(Succeed())
		hub.busy = true
		began := time.Now()
		g.Expect(r.renewOrConfirm(t.Context(), Line{})).To(MatchError(context.DeadlineExceeded))
		g.Expect(time.Since(began)).To(Equal(10*time.Second), "it was answered since")
	})
}

func TestAnOlderHubIsNotToldWhatItRefuses(t *testing.T) {
	t.Parallel()
	both := []string{contract.SessionAnnotation, contract.AgentVersionAnnotation}
	all := append([]string{contract.TrustAnnotation, contract.IssuerAnnotation}, both...)
	for name, tc := range map[string]struct {
		takes []string
		want  map[string]string
		tries int
	}{
		"a hub that knows of all": {all, map[string]string{
			contract.SessionAnnotation: "s", contract.AgentVersionAnnotation: "v1", contract.TrustAnnotation: "a,b", contract.IssuerAnnotation: "a",
		}, 2},
		"a hub that knows of versions": {both, map[string]string{contract.SessionAnnotation: "s", contract.AgentVersionAnnotation: "v1"}, 3},
		"an older hub":                 {both[:1], map[string]string{contract.SessionAnnotation: "s"}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			hub := &leases{takes: tc.takes, answered: map[string]string{}}
			r := &leaseRenewer{
				hubClient: hub, cluster: "edge-1", session: "s", version: "v1", duration: time.Minute, interval: time.Minute,
				trust: func() Trust { return Trust{Authorities: []string{"a", "b"}, Issuer: "a"} },
				clock: clocktesting.NewFakeClock(time.Now()),
			}
			g.Expect(r.renew(t.Context())).To(Succeed(), "it is heard from")
			g.Expect(r.renew(t.Context())).To(Succeed())
			g.Expect(hub.answered).To(Equal(tc.want))
			g.Expect(hub.got).To(HaveLen(tc.tries))
			g.Expect(hub.got[tc.tries-1]).To(BeEmpty(), "what was told is not told again")
		})
	}
	t.Run("what a hub refuses for a moment is told a minute later", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		hub := &leases{takes: both[:1], answered: map[string]string{}}
		now := clocktesting.NewFakeClock(time.Now())
		r := &leaseRenewer{
			hubClient: hub, cluster: "edge-1", session: "s", version: "v1", duration: time.Minute, interval: time.Minute,
			trust: func() Trust { return Trust{Authorities: []string{"a", "b"}, Issuer: "a"} }, clock: now,
		}
		g.Expect(r.renew(t.Context())).To(Succeed())
		g.Expect(hub.answered).NotTo(HaveKey(contract.TrustAnnotation))
		hub.takes = all
		g.Expect(r.renew(t.Context())).To(Succeed())
		g.Expect(hub.answered).NotTo(HaveKey(contract.TrustAnnotation), "an older hub is not asked each time")
		now.Step(refusedFor)
		g.Expect(r.renew(t.Context())).To(Succeed())
		g.Expect(hub.answered).To(And(HaveKeyWithValue(contract.TrustAnnotation, "a,b"), HaveKeyWithValue(contract.AgentVersionAnnotation, "v1")))
	})
	t.Run("what changes is told again", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		hub := &leases{takes: all, answered: map[string]string{}}
		trust := Trust{Authorities: []string{"a"}, Issuer: "a"}
		r := &leaseRenewer{
			hubClient: hub, cluster: "edge-1", session: "s", interval: time.Minute, clock: clocktesting.NewFakeClock(time.Now()),
			trust: func() Trust { return trust },
		}
		g.Expect(r.renew(t.Context())).To(Succeed())
		trust.Authorities = []string{"a", "b"}
		g.Expect(r.renew(t.Context())).To(Succeed())
		g.Expect(hub.got[1]).To(Equal(map[string]string{contract.TrustAnnotation: "a,b"}))
	})
	t.Run("what the pod before told stands until there is more to tell", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		hub := &leases{takes: all, answered: map[string]string{contract.TrustAnnotation: "a,b", contract.IssuerAnnotation: "a"}}
		r := &leaseRenewer{
			hubClient: hub, cluster: "edge-1", session: "s", interval: time.Minute, clock: clocktesting.NewFakeClock(time.Now()),
			trust: func() Trust { return Trust{} },
		}
		g.Expect(r.renew(t.Context())).To(Succeed())
		g.Expect(r.renew(t.Context())).To(Succeed())
		for _, told := range hub.got {
			g.Expect(told).NotTo(HaveKey(contract.TrustAnnotation))
			g.Expect(told).NotTo(HaveKey(contract.IssuerAnnotation))
		}
	})
	t.Run("a hub that did not know yet who may do what", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		hub := &leases{answered: map[string]string{}}
		r := &leaseRenewer{
			hubClient: hub, cluster: "edge-1", session: "s", version: "v1", interval: time.Minute, clock: clocktesting.NewFakeClock(time.Now()),
			trust: func() Trust { return Trust{Authorities: []string{"a"}, Issuer: "a"} },
		}
		g.Expect(r.renew(t.Context())).NotTo(Succeed())
		hub.takes = all
		g.Expect(r.renew(t.Context())).To(Succeed())
		g.Expect(hub.answered).To(HaveLen(len(all)), "it is told everything then")
	})
	t.Run("a hub that refuses all", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		hub := &leases{answered: map[string]string{}}
		r := &leaseRenewer{hubClient: hub, cluster: "edge-1", session: "s", version: "v1", interval: time.Minute, clock: clocktesting.NewFakeClock(time.Now())}
		g.Expect(r.renew(t.Context())).To(MatchError(ContainSubstring("renewing the lease")))
		g.Expect(hub.got).To(HaveLen(2))
	})
}

func TestAHubThatIsBackHearsTheAgentAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		hub := &leases{answered: map[string]string{}} // which takes nothing
		away, results := outage.New(), make(chan error, 1)
		end := func() {
			away.Tell(errors.New("connection refused"))
			away.Tell(nil)
		}
		renewer, err := Renewer(hub, hub, Deps{
			Cluster: "edge-1", Clock: clock.RealClock{}, LeaseDuration: 4 * time.Minute, LeaseRenewFraction: 0.25,
			OutageEnds: away.Ended, Renewed: func(err error) { results <- err },
		})
		g.Expect(err).NotTo(HaveOccurred())
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- renewer.Start(ctx) }()
		for range 30 { // some twenty minutes
			g.Expect(<-results).NotTo(Succeed())
		}
		synctest.Wait()
		hub.change(func() { hub.takes = []string{contract.SessionAnnotation} })
		at := time.Now()
		end()
		g.Expect(<-results).To(Succeed())
		g.Expect(time.Now()).To(Equal(at))
		end()
		g.Expect(<-results).To(Succeed())
		g.Expect(time.Since(at)).To(Equal(time.Minute), "what did not fail is not tried sooner")

		// The hub is busy: a write that timed out may still take effect.
		synctest.Wait()
		hub.change(func() { hub.busy = true })
		time.Sleep(time.Minute + time.Second)
		end()
		g.Expect(<-results).NotTo(Succeed())
		synctest.Wait()
		hub.change(func() {
			g.Expect(hub.reads).To(BeEmpty(), "it is not asked at once")
			hub.busy = false
		})
		g.Expect(<-results).To(Succeed())
		hub.change(func() { g.Expect(hub.reads).To(Equal([]string{"0"})) })
		cancel()
		g.Expect(<-ended).To(Succeed())
	})
}
