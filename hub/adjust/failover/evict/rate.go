package evict

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// overdue is how long a slot is kept for a binding that does not claim it.
const overdue = 10 * time.Second

// RateLimiter spaces out evictions from failed clusters, so that a false alarm does little harm until somebody notices.
// Each failure zone has its own limit, so one that has failed does not delay the others. Within a zone, namespaces take
// turns, so that one with thousands of applications does not delay the others either. It is not safe for concurrent
// use.
type RateLimiter struct {
	every time.Duration
	zones map[string]*zone
}

// zone is a failure zone.
type zone struct {
	// taken is when the last slot was used, and next is the first slot that nobody waits for.
	taken, next time.Time
	// round is the round of the last slot that was used.
	round int
	// asked counts the requests for a turn.
	asked int
	// waiting has the turns of those that wait, by name; queue has them in order, and slots has their times: the first
	// turn has the first slot. A turn that is inserted moves those behind it to later slots, which they learn when they
	// ask again.
	waiting map[string]turn
	queue   []turn
	slots   []time.Time
	// rounds is the last round of each namespace that asked recently, and asking how many of its names wait.
	rounds, asking map[string]int
}

// turn is the place of a name in the queue: a namespace has one turn in each round.
type turn struct {
	round, asked    int
	namespace, name string
}

func (t turn) compare(other turn) int {
	return cmp.Or(cmp.Compare(t.round, other.round), cmp.Compare(t.asked, other.asked))
}

// NewRateLimiter returns a limiter for that many evictions per second in each zone; 0 or less means no limit.
func NewRateLimiter(perSecond float64) *RateLimiter {
	p := &RateLimiter{zones: map[string]*zone{}}
	if perSecond > 0 {
		p.every = time.Duration(float64(time.Second) / perSecond)
	}
	return p
}

// Ask returns how long the rate limit of a zone makes a name of a namespace wait. 0 means that it may go on, and uses
// up its slot. A name that asks again keeps its turn unless it is much too late: slots do not accumulate. Names must be
// unique across namespaces.
func (p *RateLimiter) Ask(in, namespace, name string, now time.Time) time.Duration {
	if p.every == 0 {
		return 0
	}
	z := p.zones[in]
	if z == nil {
		z = &zone{waiting: map[string]turn{}, rounds: map[string]int{}, asking: map[string]int{}}
		p.zones[in] = z
	}
	for len(z.slots) > 0 && now.Sub(z.slots[0]) > overdue {
		p.Forget(in, z.queue[0].name)
	}
	t, ok := z.waiting[name]
	if !ok {
		t = z.add(namespace, name, now)
		z.slots = append(z.slots, later(z.next, now))
		z.next = z.slots[len(z.slots)-1].Add(p.every)
	}
	i, _ := slices.BinarySearchFunc(z.queue, t, turn.compare)
	if at := z.slots[i]; at.After(now) {
		return at.Sub(now)
	}
	z.remove(i)
	z.taken, z.round = now, max(z.round, t.round)
	return 0
}

// add gives a name its turn: the next one of its namespace, behind those whose slot has already come.
func (z *zone) add(namespace, name string, now time.Time) turn {
	if len(z.queue) == 0 {
		maps.DeleteFunc(z.rounds, func(_ string, last int) bool { return last < z.round })
	}
	z.asked++
	t := turn{round: z.round, asked: z.asked, namespace: namespace, name: name}
	if due, _ := slices.BinarySearchFunc(z.slots, now.Add(1), time.Time.Compare); due > 0 {
		t.round = max(t.round, z.queue[due-1].round)
	}
	if last, ok := z.rounds[namespace]; ok {
		t.round = max(t.round, last+1)
	}
	z.rounds[namespace], z.waiting[name] = t.round, t
	z.asking[namespace]++
	i, _ := slices.BinarySearchFunc(z.queue, t, turn.compare)
	z.queue = slices.Insert(z.queue, i, t)
	return t
}

// remove removes a turn and its slot.
func (z *zone) remove(i int) {
	t := z.queue[i]
	delete(z.waiting, t.name)
	if z.asking[t.namespace]--; z.asking[t.namespace] == 0 {
		delete(z.asking, t.namespace)
	}
	z.queue, z.slots = slices.Delete(z.queue, i, i+1), slices.Delete(z.slots, i, i+1)
}

// Forget gives up the slot of a name in a zone. When nobody waits any more, the next one does not wait for slots that
// were given up.
func (p *RateLimiter) Forget(in, name string) {
	z := p.zones[in]
	if z == nil {
		return
	}
	t, ok := z.waiting[name]
	if !ok {
		return
	}
	i, _ := slices.BinarySearchFunc(z.queue, t, turn.compare)
	z.remove(i)
	// A namespace whose turns were given up must not fall behind the others because of them.
	if z.asking[t.namespace] == 0 {
		z.rounds[t.namespace] = min(z.rounds[t.namespace], z.round)
	}
	if len(z.waiting) == 0 {
		z.next = z.taken.Add(p.every)
	}
}
