package fairqueue

import "sigs.k8s.io/controller-runtime/pkg/reconcile"

// Slots are how many workers may hold large requests concurrently.
type Slots struct {
	// OfNamespace bounds the slots per namespace, and OfAll in total.
	OfNamespace, OfAll int
}

// SlotsOf returns the slots of a controller with this number of workers: half of them per namespace, and three
// quarters in total. A single worker serves all requests.
func SlotsOf(workers int) Slots {
	return Slots{OfNamespace: max(workers/2, 1), OfAll: max(workers-(workers+3)/4, 1)}
}

// order determines which request is handed out next. It is not safe for concurrent use.
type order struct {
	slots Slots
	items map[reconcile.Request]*item
	// ready are the requests for any worker, and waiting those that need a slot.
	ready, waiting *lane
	// held are the slots in use, by namespace, and all is their sum.
	held map[string]int
	all  int
	// largeLast says that the last request handed out had waited for a slot.
	largeLast bool
	// places is the last assigned place.
	places uint64
}

func newOrder(slots Slots) *order {
	return &order{slots: slots, items: map[reconcile.Request]*item{}, ready: newLane(), waiting: newLane(), held: map[string]int{}}
}

// add adds a request. One that waits for a slot becomes ready without it: it may not need one any more.
func (o *order) add(req reconcile.Request, priority int) {
	it := o.items[req]
	switch {
	case it == nil:
		it = &item{request: req, priority: priority, place: o.nextPlace()}
		o.items[req] = it
		o.ready.push(it)
	case it.line == nil: // a worker has it
		if !it.again || priority > it.againPriority {
			it.againPriority = priority
		}
		it.again = true
	case priority > it.priority:
		it.leave()
		it.priority, it.place = priority, o.nextPlace()
		o.ready.push(it)
	case it.line.lane == o.waiting:
		it.leave()
		o.ready.push(it)
	}
}

// isReady returns whether a request will be handed out without anything else having to happen, except that its worker
// finishes.
func (o *order) isReady(req reconcile.Request) bool {
	it := o.items[req]
	return it != nil && (it.again || it.line != nil && it.line.lane == o.ready)
}

// next returns the line whose first request is next; nil if there is none. Requests that waited for a slot and those
// that need none alternate at equal priority, so that neither starves the other, however many there are and however
// few workers.
func (o *order) next() *line {
	ready, large := o.ready.first(anyNamespace), o.waiting.first(o.hasSlots)
	switch {
	case ready == nil:
		return large
	case large == nil, ready.priority > large.priority, ready.priority == large.priority && o.largeLast:
		return ready
	default:
		return large
	}
}

// pop hands out the next request, with a slot if it waited for one.
func (o *order) pop() (req reconcile.Request, priority int, ok bool) {
	of := o.next()
	if of == nil {
		return reconcile.Request{}, 0, false
	}
	it := of.pop()
	it.waits, o.largeLast = false, of.lane == o.waiting
	if o.largeLast {
		o.take(it)
	}
	return it.request, it.priority, true
}

// takeSlot returns whether the worker of a request may go on with it as a large one. A request without a slot queues
// behind those that already wait.
func (o *order) takeSlot(req reconcile.Request) bool {
	it := o.items[req]
	if it == nil || it.line != nil || it.hasSlot {
		return true
	}
	first := o.waiting.first(o.hasSlots)
	if it.waits || !o.hasSlots(req.Namespace) || first != nil && first.priority >= it.priority {
		it.waits = true
		return false
	}
	o.take(it)
	return true
}

// isRefused returns whether the worker of a request asked for a slot in vain.
func (o *order) isRefused(req reconcile.Request) bool {
	it := o.items[req]
	return it != nil && it.line == nil && it.waits
}

// done ends the work on a request. It becomes ready if it was added meanwhile, and waits if its worker asked for a
// slot in vain.
func (o *order) done(req reconcile.Request) {
	it := o.items[req]
	if it == nil || it.line != nil {
		return
	}
	if it.hasSlot {
		o.giveBack(it)
	}
	switch {
	case it.again && it.waits:
		it.again, it.priority = false, max(it.priority, it.againPriority)
		o.ready.push(it)
	case it.again:
		it.again, it.priority, it.place = false, it.againPriority, o.nextPlace()
		o.ready.push(it)
	case it.waits:
		o.waiting.push(it)
	default:
		delete(o.items, req)
	}
}

// hasSlots returns whether another large request of a namespace may be handed out.
func (o *order) hasSlots(namespace string) bool {
	return o.all < o.slots.OfAll && o.held[namespace] < o.slots.OfNamespace
}

func (o *order) take(it *item) {
	it.hasSlot = true
	o.held[it.request.Namespace]++
	o.all++
}

func (o *order) giveBack(it *item) {
	it.hasSlot = false
	o.all--
	if o.held[it.request.Namespace]--; o.held[it.request.Namespace] == 0 {
		delete(o.held, it.request.Namespace)
	}
}

func (o *order) nextPlace() uint64 {
	o.places++
	return o.places
}

func anyNamespace(string) bool { return true }
