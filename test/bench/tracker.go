package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// tracker notes when what was first seen of each template.
type tracker struct {
	members int

	mu    sync.Mutex
	marks map[string]*mark
	done  int
	// changed is closed and replaced when a template is done.
	changed chan struct{}
}

// mark is what was seen of one template.
type mark struct {
	created time.Time
	// exists and settled are by member.
	exists, settled []time.Time
	reported        time.Time
	done            chan struct{}
}

func newTracker(members int) *tracker {
	return &tracker{members: members, marks: map[string]*mark{}, changed: make(chan struct{})}
}

// create notes that a template is about to be created.
func (t *tracker) create(name string) *mark {
	m := &mark{
		created: time.Now(), exists: make([]time.Time, t.members), settled: make([]time.Time, t.members),
		done: make(chan struct{}),
	}
	t.mu.Lock()
	t.marks[name] = m
	t.mu.Unlock()
	return m
}

// inMember notes that a member has the object, and whether it has done what it asks for.
func (t *tracker) inMember(name string, member int, settled bool) {
	now := time.Now()
	t.update(name, func(m *mark) {
		first(&m.exists[member], now)
		if settled {
			first(&m.settled[member], now)
		}
	})
}

// onHub notes that the hub shows the status from all members.
func (t *tracker) onHub(name string) {
	now := time.Now()
	t.update(name, func(m *mark) { first(&m.reported, now) })
}

func first(at *time.Time, now time.Time) {
	if at.IsZero() {
		*at = now
	}
}

func (t *tracker) update(name string, change func(*mark)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m, ok := t.marks[name]
	if !ok {
		return // left over from before
	}
	change(m)
	if m.complete() && !isClosed(m.done) {
		close(m.done)
		t.done++
		close(t.changed)
		t.changed = make(chan struct{})
	}
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func (m *mark) complete() bool {
	if m.reported.IsZero() {
		return false
	}
	for i := range m.exists {
		if m.exists[i].IsZero() || m.settled[i].IsZero() {
			return false
		}
	}
	return true
}

// await waits until n templates are done, and returns how many are when the context ends
// or nothing happens any more.
func (t *tracker) await(ctx context.Context, n int, patience time.Duration) int {
	for {
		t.mu.Lock()
		done, changed := t.done, t.changed
		t.mu.Unlock()
		if done >= n {
			return done
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return done
		case <-time.After(patience):
			return done
		}
	}
}

// lacking says of one template that is not done what it lacks.
func (t *tracker) lacking() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(t.marks)) {
		m := t.marks[name]
		if m.complete() {
			continue
		}
		var lacks []string
		for i := range m.exists {
			switch {
			case m.exists[i].IsZero():
				lacks = append(lacks, fmt.Sprintf("member %d does not have it", i+1))
			case m.settled[i].IsZero():
				lacks = append(lacks, fmt.Sprintf("in member %d it is not ready", i+1))
			}
		}
		if m.reported.IsZero() {
			lacks = append(lacks, "the hub does not show its status")
		}
		return fmt.Sprintf("of %q for instance %s", name, strings.Join(lacks, ", "))
	}
	return "nothing is missing now"
}

// latencies are those of the templates that are done.
func (t *tracker) latencies() Latencies {
	t.mu.Lock()
	defer t.mu.Unlock()
	var exists, reported, after []time.Duration
	for _, m := range t.marks {
		if !m.complete() {
			continue
		}
		exists = append(exists, latest(m.exists).Sub(m.created))
		reported = append(reported, m.reported.Sub(m.created))
		// The watches of hub and members are not in step; what is seen early took no time.
		after = append(after, max(0, m.reported.Sub(latest(m.settled))))
	}
	return Latencies{Exists: quantiles(exists), Status: quantiles(reported), StatusAfterChange: quantiles(after)}
}

func latest(times []time.Time) time.Time {
	var last time.Time
	for _, at := range times {
		if at.After(last) {
			last = at
		}
	}
	return last
}
