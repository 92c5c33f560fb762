package status

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/hub/flow/status/aggregate"
)

const (
	// reconsider is after how long it is looked again whether a status that is left out fits by now: what the other clusters report, with
	// which it did not, is another.
	reconsider = 5 * time.Minute
	// restShare is how much longer than a search that found nobody the next one waits: reports of others ask for looks all the time.
	restShare = 10
)

// remembered is what searches found, by binding. One worker at a time has to do with a binding, and so with its memory.
type remembered struct {
	mu       sync.Mutex
	bindings map[types.NamespacedName]*memory
}

// memory is what searches found of a binding. It has no more entries than the binding has Works.
type memory struct {
	// of tells what the status of the template was made of beside the reports.
	of string
	// left are the clusters that are left out.
	left map[string]aggregate.LeftOut
	// since is when that was found.
	since time.Time
	// unshown tells the statuses without which a binding's template was written, as they are too much beside the others; empty if none are.
	unshown string
	// from and to are the clusters between which one is, or several are, that an earlier search did not get to.
	from, to string
	// rest is until when there is no other search.
	rest time.Time
}

func newRemembered() *remembered {
	return &remembered{bindings: map[types.NamespacedName]*memory{}}
}

// of returns what is known of a binding, of what still holds for these reports and what else its template's status is made of.
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

// keep has what is known of a binding remembered, if there is anything.
func (o *remembered) keep(key types.NamespacedName, m *memory) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(m.left) == 0 && m.unshown == "" && m.from == "" && m.rest.IsZero() {
		delete(o.bindings, key)
		return
	}
	o.bindings[key] = m
}

// forget drops what is known of a binding that is gone.
func (o *remembered) forget(key types.NamespacedName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.bindings, key)
}

// due says whether to look again at whoever is left out.
func (m *memory) due(now time.Time) bool { return !now.Before(m.since.Add(reconsider)) }

// known returns the clusters that are left out without a look at them.
func (m *memory) known(now time.Time) map[string]aggregate.LeftOut {
	if m.due(now) {
		return nil
	}
	return m.left
}

// fit notes that the items add up: whoever has a status in them is not left out any more.
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

// wait returns when to look at the binding again: after some other time, 0 for never, or when whoever is left out may fit again.
func (m *memory) wait(other time.Duration, now time.Time) time.Duration {
	if len(m.left) == 0 && m.unshown == "" {
		return other
	}
	wait := m.since.Add(reconsider).Sub(now)
	if wait <= 0 {
		wait = reconsider // there was nothing to look at
	}
	if other > 0 {
		return min(wait, other)
	}
	return wait
}
