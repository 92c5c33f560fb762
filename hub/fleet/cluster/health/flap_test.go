package health

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// member is a cluster that the hub reconciles every second, and which may be silent.
type member struct {
	now     time.Time
	ready   *metav1.Condition
	renewed time.Time
	memory  *Memory
	options Options
	out     Decision
}

// spend advances the clock second by second, while the member renews its lease or not. It returns how long the
// consequences of its silence lasted.
func (m *member) spend(d time.Duration, alive bool) (unbelieved time.Duration) {
	for range int(d / time.Second) {
		m.now = m.now.Add(time.Second)
		if alive {
			m.renewed = m.now
			if statusOf(m.ready) != isTrue {
				m.ready = condition(isTrue, m.now)
			}
		}
		m.out = Decide(Input{Now: m.now, Ready: m.ready, Renewed: m.renewed, Memory: m.memory, Options: m.options})
		m.memory = &m.out.Memory
		if m.out.Ready != nil {
			m.ready = m.out.Ready
		}
		if m.out.Settling || statusOf(m.ready) != isTrue {
			unbelieved += time.Second
		}
	}
	return unbelieved
}

func TestAMemberThatComesAndGoesIsBelievedMoreSlowlyEachTime(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	m := member{
		now: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC), options: Options{Period: 5 * time.Second, Grace: 40 * time.Second, StartupGrace: time.Minute},
	}
	g.Expect(m.spend(time.Minute, true)).To(BeZero())

	for range 10 {
		g.Expect(m.spend(20*time.Second, false)).To(BeZero(), "so short a silence is none")
		g.Expect(m.spend(20*time.Second, true)).To(BeZero())
	}

	m.spend(time.Minute, false)
	g.Expect(statusOf(m.ready)).To(Equal(isUnknown))
	g.Expect(m.spend(time.Minute, true)).To(BeZero(), "the first time it is believed at once")
	m.spend(time.Minute, false)
	g.Expect(m.spend(time.Minute, true)).To(Equal(30 * time.Second))
	m.spend(time.Minute, false)
	g.Expect(m.spend(time.Minute, true)).To(Equal(time.Minute))
	m.spend(time.Minute, false)
	g.Expect(m.spend(3*time.Minute, true)).To(BeNumerically("~", 2*time.Minute, time.Second))

	m.spend(time.Minute, false)
	g.Expect(m.spend(10*time.Second, true)).To(Equal(10 * time.Second))
	m.spend(time.Minute, false)
	g.Expect(statusOf(m.ready)).To(Equal(isUnknown), "silent while it is not believed yet")

	m.spend(5*time.Minute, true)
	g.Expect(m.spend(11*time.Minute, true)).To(BeZero())
	m.spend(time.Minute, false)
	g.Expect(m.spend(time.Minute, true)).To(BeZero(), "it was well for long")
}

func TestTheNextLookIsWhenAMemberIsBelieved(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	m := member{
		now: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC), options: Options{Period: 5 * time.Second, Grace: 40 * time.Second, StartupGrace: time.Minute},
	}
	for range 2 {
		m.spend(time.Minute, true)
		m.spend(time.Minute, false)
	}
	m.spend(time.Second, true)
	g.Expect(m.out.Settling).To(BeTrue())
	g.Expect(m.out.RecheckAfter).To(Equal(30 * time.Second))
	m.spend(30*time.Second, true)
	g.Expect(m.out.Settling).To(BeFalse())
	g.Expect(m.out.RecheckAfter).To(Equal(40 * time.Second))
}
