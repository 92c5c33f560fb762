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

// tracker records when each step of one change was first observed for each template.
type tracker struct {
	change  change
	members int

	mu    sync.Mutex
	marks map[string]*mark
	done  int
	// changed is closed and replaced when a template is done.
	changed chan struct{}
}

// mark has the observations of one template.
type mark struct {
	began time.Time
	// at is when a step was observed: once, or once per member.
	at map[step][]time.Time
	// resourceVersion is that of the template before the change; empty for a creation.
	resourceVersion string
	done            chan struct{}
}

func newTracker(c change, members int) *tracker {
	return &tracker{change: c, members: members, marks: map[string]*mark{}, changed: make(chan struct{})}
}

// begin records that a template is about to be changed.
func (t *tracker) begin(name, resourceVersion string) *mark {
	m := &mark{began: time.Now(), at: map[step][]time.Time{}, resourceVersion: resourceVersion, done: make(chan struct{})}
	for _, s := range steps(t.change) {
		m.at[s] = make([]time.Time, 1)
		if s.inEachMember() {
			m.at[s] = make([]time.Time, t.members)
		}
	}
	t.mu.Lock()
	t.marks[name] = m
	t.mu.Unlock()
	return m
}

// before returns the resourceVersion of a template before its change, and whether the template is tracked.
func (t *tracker) before(name string) (string, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m, ok := t.marks[name]
	if !ok {
		return "", false // left over from an earlier run
	}
	return m.resourceVersion, true
}

// seen records a step of a template; member matters only for steps that happen per member.
func (t *tracker) seen(name string, s step, member int) {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	m, ok := t.marks[name]
	if !ok {
		return
	}
	if at := m.at[s]; member < len(at) && at[member].IsZero() {
		at[member] = now
	}
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

// complete reports whether all steps that count were observed. The others are recorded, but not waited for.
func (m *mark) complete() bool {
	for s := range m.at {
		if s.counts() && m.last(s).IsZero() {
			return false
		}
	}
	return true
}

// last returns when a step was complete; zero if it is not.
func (m *mark) last(s step) time.Time {
	var last time.Time
	for _, at := range m.at[s] {
		if at.IsZero() {
			return time.Time{}
		}
		if at.After(last) {
			last = at
		}
	}
	return last
}

// await waits until n templates are done, the context ends, or no template is done within the timeout, and returns how
// many are done.
func (t *tracker) await(ctx context.Context, n int, timeout time.Duration) int {
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
		case <-time.After(timeout):
			return done
		}
	}
}

// lacking describes the missing steps of one template that is not done.
func (t *tracker) lacking() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(t.marks)) {
		m := t.marks[name]
		if m.complete() {
			continue
		}
		var lacks []string
		for _, s := range steps(t.change) {
			if s.counts() && m.last(s).IsZero() {
				lacks = append(lacks, fmt.Sprintf("%q was not seen", s.String()))
			}
		}
		return fmt.Sprintf("of %q for instance %s", name, strings.Join(lacks, ", "))
	}
	return "nothing is missing now"
}

// latencies returns the latencies of the completed templates, by step.
func (t *tracker) latencies() []Step {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []Step
	for _, s := range steps(t.change) {
		var took []time.Duration
		for _, m := range t.marks {
			if at := m.last(s); m.complete() && !at.IsZero() {
				took = append(took, at.Sub(m.began))
			}
		}
		if len(took) > 0 {
			out = append(out, Step{Name: s.String(), Quantiles: quantiles(took)})
		}
	}
	return out
}
