package health

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

// step is what happens to one cluster at a second of the hub's clock.
type step struct {
	// at is the second of the hub's clock.
	at int
	// ready is the Ready status that the agent writes, if any.
	ready metav1.ConditionStatus
	// renew says that the agent renews its lease.
	renew bool
	// patience is the lease duration in seconds that the lease carries from then on.
	patience int
	// restart says that the hub has lost its memory; stopped says that it was not running until then.
	restart, stopped bool
	// want is Ready afterwards; empty if the condition is absent.
	want metav1.ConditionStatus
	// wantRecheck is the second of the next reconcile; 0 if none is needed.
	wantRecheck int
}

const (
	isTrue    = metav1.ConditionTrue
	isFalse   = metav1.ConditionFalse
	isUnknown = metav1.ConditionUnknown
)

func TestDecide(t *testing.T) {
	t.Parallel()
	options := Options{Period: 5 * time.Second, Grace: 40 * time.Second, StartupGrace: 60 * time.Second}
	start := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

	tests := map[string][]step{
		"a member that renews its lease stays ready": {
			{at: 0, ready: isTrue, renew: true, want: isTrue, wantRecheck: 40},
			{at: 10, renew: true, want: isTrue, wantRecheck: 50},
			{at: 40, renew: true, want: isTrue, wantRecheck: 80},
			{at: 79, want: isTrue, wantRecheck: 80},
		},
		"a member that says that it renews its lease rarely is waited for": {
			{at: 0, ready: isTrue, renew: true, patience: 180, want: isTrue, wantRecheck: 180},
			{at: 45, renew: true, want: isTrue, wantRecheck: 225},
			{at: 224, want: isTrue, wantRecheck: 225},
			{at: 225, want: isUnknown},
		},
		"for ten minutes at most": {
			{at: 0, ready: isTrue, renew: true, patience: 86400, want: isTrue, wantRecheck: 600},
			{at: 600, want: isUnknown},
		},
		"one that says that it renews it often is waited for as others are": {
			{at: 0, ready: isTrue, renew: true, patience: 5, want: isTrue, wantRecheck: 40},
		},
		"a member that falls silent becomes unknown at the end of the grace period": {
			{at: 0, ready: isTrue, renew: true, want: isTrue, wantRecheck: 40},
			{at: 39, want: isTrue, wantRecheck: 40},
			{at: 40, want: isUnknown},
			{at: 400, want: isUnknown},
		},
		"a member that is not ready becomes unknown as well": {
			{at: 0, ready: isFalse, renew: true, want: isFalse, wantRecheck: 40},
			{at: 40, want: isUnknown},
		},
		"a member that is not ready but heard from stays so": {
			{at: 0, ready: isFalse, renew: true, want: isFalse, wantRecheck: 40},
			{at: 30, renew: true, want: isFalse, wantRecheck: 70},
			{at: 60, renew: true, want: isFalse, wantRecheck: 100},
		},
		"a member that never reports has the longer grace period": {
			{at: 0, wantRecheck: 60},
			{at: 59, wantRecheck: 60},
			{at: 60, want: isUnknown},
		},
		"a member that never reports but renews its lease is left alone": {
			{at: 0, wantRecheck: 60},
			{at: 50, renew: true, wantRecheck: 110},
			{at: 100, renew: true, wantRecheck: 160},
		},
		"the first report starts the shorter grace period": {
			{at: 0, wantRecheck: 60},
			{at: 50, ready: isTrue, want: isTrue, wantRecheck: 90},
			{at: 90, want: isUnknown},
		},
		"a lease that is renewed again does not make the member ready, its report does": {
			{at: 0, ready: isTrue, renew: true, want: isTrue, wantRecheck: 40},
			{at: 40, want: isUnknown},
			{at: 50, renew: true, want: isUnknown},
			{at: 51, ready: isTrue, want: isTrue, wantRecheck: 91},
			{at: 91, want: isUnknown},
		},
		"flapping reports are signs of life": {
			{at: 0, ready: isTrue, want: isTrue, wantRecheck: 40},
			{at: 30, ready: isFalse, want: isFalse, wantRecheck: 70},
			{at: 60, ready: isTrue, want: isTrue, wantRecheck: 100},
			{at: 99, want: isTrue, wantRecheck: 100},
			{at: 100, want: isUnknown},
		},
		"a restart of the hub starts the grace period over": {
			{at: 0, ready: isTrue, renew: true, want: isTrue, wantRecheck: 40},
			{at: 39, restart: true, want: isTrue, wantRecheck: 79},
			{at: 78, want: isTrue, wantRecheck: 79},
			{at: 79, want: isUnknown},
		},
		"a restart of the hub leaves unknown what is unknown": {
			{at: 0, ready: isTrue, want: isTrue, wantRecheck: 40},
			{at: 40, want: isUnknown},
			{at: 41, restart: true, want: isUnknown},
		},
		"a hub that was stopped for a while starts the grace period over": {
			{at: 0, ready: isTrue, renew: true, want: isTrue, wantRecheck: 40},
			{at: 3600, stopped: true, want: isTrue, wantRecheck: 3640},
			{at: 3640, want: isUnknown},
		},
		"a hub that was stopped before the look was due looks when it is": {
			{at: 0, ready: isTrue, renew: true, want: isTrue, wantRecheck: 40},
			{at: 30, stopped: true, want: isTrue, wantRecheck: 40},
			{at: 40, want: isUnknown},
		},
		"a look that is late because there is much to do is believed": {
			{at: 0, ready: isTrue, renew: true, want: isTrue, wantRecheck: 40},
			{at: 100, want: isUnknown},
		},
	}
	for name, story := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			var ready *metav1.Condition
			var renewed time.Time
			var patience time.Duration
			var memory *Memory
			var awake time.Time
			for _, s := range story {
				now := start.Add(time.Duration(s.at) * time.Second)
				if s.ready != "" {
					ready = condition(s.ready, now)
				}
				if s.renew {
					renewed = time.Unix(int64(1000-s.at), 0) // the member's clock runs backwards
				}
				if s.patience > 0 {
					patience = time.Duration(s.patience) * time.Second
				}
				if s.restart {
					memory = nil
				}
				if s.stopped {
					awake = now
				}
				out := Decide(Input{
					Now: now, Ready: ready, Renewed: renewed, Patience: patience, Memory: memory, Awake: awake, Options: options, Generation: 7,
				})
				memory = &out.Memory
				if out.Ready != nil {
					ready = out.Ready
				}
				g.Expect(statusOf(ready)).To(Equal(s.want), "second %d", s.at)
				wantAfter := time.Duration(0)
				if s.wantRecheck != 0 {
					wantAfter = time.Duration(s.wantRecheck-s.at) * time.Second
				}
				g.Expect(out.RecheckAfter).To(Equal(wantAfter), "second %d", s.at)
			}
		})
	}
}

func TestDecideSaysWhyAMemberIsUnknown(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	tests := map[string]struct {
		ready                   *metav1.Condition
		wantReason, wantMessage string
	}{
		"it never reported": {
			wantReason:  clusterv1alpha1.ReasonClusterStatusNeverUpdated,
			wantMessage: "Cluster status controller never posted cluster status.",
		},
		"it stopped reporting": {
			ready:       condition(isTrue, now.Add(-time.Hour)),
			wantReason:  clusterv1alpha1.ReasonClusterStatusUnknown,
			wantMessage: "Cluster status controller stopped posting cluster status.",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			memory := Memory{Heard: now.Add(-time.Hour), ready: reportOf(tc.ready)}
			out := Decide(Input{
				Now: now, Ready: tc.ready, Generation: 7, Memory: &memory,
				Options: Options{Period: time.Second, Grace: time.Minute, StartupGrace: time.Minute},
			})
			g.Expect(out.Ready).To(Equal(&metav1.Condition{
				Type: clusterv1alpha1.ClusterReady, Status: isUnknown, Reason: tc.wantReason, Message: tc.wantMessage,
				ObservedGeneration: 7, LastTransitionTime: metav1.NewTime(now),
			}))
		})
	}
}

func condition(status metav1.ConditionStatus, since time.Time) *metav1.Condition {
	return &metav1.Condition{
		Type: clusterv1alpha1.ClusterReady, Status: status, Reason: "Reported", LastTransitionTime: metav1.NewTime(since),
	}
}

func statusOf(c *metav1.Condition) metav1.ConditionStatus {
	if c == nil {
		return ""
	}
	return c.Status
}
