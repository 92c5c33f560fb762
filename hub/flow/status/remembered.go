package status

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/hub/flow/status/aggregate"
)

const (
	// reconsider is how long a status stays left out before it is tried again, since the other clusters may report something it is
	// compatible with.
	reconsider = 5 * time.Minute
	// restShare times the duration of a search that found nothing is how long the next search waits. Without it, every report of another
	// cluster would start one.
	restShare = 10
)

// remembered holds the memory of each binding. A memory needs no lock: a binding is reconciled by one worker at a time.
type remembered struct {
	mu       sync.Mutex
	bindings map[types.NamespacedName]*memory
}

// memory is what searches found about a binding's items. It has at most as many entries as the binding has Works.
type memory struct {
	// of identifies the inputs of the template's status other than the reports; see rulesOf.
	of string
	// left are the clusters whose status is left out.
	left map[string]aggregate.LeftOut
	// since is when left or unshown was last confirmed.
	since time.Time
	// unshown is the digest of the statuses without which the template was written because they were too large together with the others;
	// empty if there are none.
	unshown string
	// from and to delimit, by name, the clusters among which a search ran out of time. At least one of them is unacceptable.
	from, to string
	// rest is the time before which no further search starts.
	rest time.Time
}

func newRemembered() *remembered {
	return &remembered{bindings: map[types.NamespacedName]*memory{}}
}

// of returns the memory of a binding, without what does not hold any more for these reports. It is empty if of has changed.
func (o *remembered) of(key types.NamespacedName, of string, reports []aggregate.Report, now time.Time) *memory {
	o.mu.Lock()
	m := o.bindings[key]
	o.mu.Unlock()
	if m == nil || m.of != of {
		return &memory{of: of, left: map[string]aggregate.LeftOut{}, since: now}
	}
	there := make(map[string]bool, len(reports))
	for i := range reports {
		there[reports[i].Cluster] = true
	}
	for cluster := range m.left {
		if !there[cluster] {
			delete(m.left, cluster)
		}
	}
	if m.due(now) {
		m.unshown = ""
	}
	return m
}

// keep stores the memory of a binding, or drops it if it is empty.
func (o *remembered) keep(key types.NamespacedName, m *memory) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(m.left) == 0 && m.unshown == "" && m.from == "" && m.rest.IsZero() {
		delete(o.bindings, key)
		return
	}
	o.bindings[key] = m
}

// forget drops a deleted binding.
func (o *remembered) forget(key types.NamespacedName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.bindings, key)
}

// due returns whether the statuses that are left out should be tried again.
func (m *memory) due(now time.Time) bool { return !now.Before(m.since.Add(reconsider)) }

// known returns the clusters to leave out without trying their statuses; none when these are due.
func (m *memory) known(now time.Time) map[string]aggregate.LeftOut {
	if m.due(now) {
		return nil
	}
	return m.left
}

// fit records that the items can be aggregated: clusters that have a status in them are not left out any more.
func (m *memory) fit(out *aggregate.Decision, now time.Time) {
	for i := range out.Reported {
		if out.Reported[i].Status != nil {
			delete(m.left, out.Reported[i].ClusterName)
		}
	}
	if m.due(now) {
		m.since = now
	}
	m.from, m.to, m.rest = "", "", time.Time{}
}

// wait returns when to reconcile the binding again: after other, or when the statuses that are left out are due, whichever comes first;
// 0 means never.
func (m *memory) wait(other time.Duration, now time.Time) time.Duration {
	if len(m.left) == 0 && m.unshown == "" {
		return other
	}
	wait := m.since.Add(reconsider).Sub(now)
	if wait <= 0 {
		wait = reconsider // it was due, and nothing was tried
	}
	if other > 0 {
		return min(wait, other)
	}
	return wait
}
