package fairqueue

import (
	"cmp"

	"k8s.io/utils/third_party/forked/golang/btree"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// degree is the degree of the B-trees in a lane, most of which have few entries.
const degree = 8

// item is a request that is in a lane or being worked on.
type item struct {
	request  reconcile.Request
	priority int
	// place is its position in the order of arrival. A request that waits for a slot keeps it while it is reconciled
	// once more.
	place uint64
	// line is the line that contains it; nil while a worker has it.
	line *line

	// hasSlot says that its worker holds a slot, and waits that the worker asked for one in vain.
	hasSlot, waits bool
	// again says that it was added while a worker has it, and againPriority is the highest priority with which it
	// was.
	again         bool
	againPriority int
}

// lane holds requests that wait for the same thing, in one line per namespace and priority. It is not safe for
// concurrent use.
type lane struct {
	lines map[lineKey]*line
	// order sorts the lines by priority, highest first, and then by their last turn, oldest first.
	order *btree.BTree[*line]
	turns uint64
	size  int
}

type lineKey struct {
	namespace string
	priority  int
}

type line struct {
	lineKey

	lane  *lane
	turn  uint64
	items *btree.BTree[*item]
}

func newLane() *lane {
	return &lane{lines: map[lineKey]*line{}, order: btree.New(degree, func(a, b *line) bool {
		return cmp.Or(cmp.Compare(b.priority, a.priority), cmp.Compare(a.turn, b.turn)) < 0
	})}
}

// push adds an item to the line of its namespace and priority.
func (l *lane) push(it *item) {
	key := lineKey{it.request.Namespace, it.priority}
	of := l.lines[key]
	if of == nil {
		of = &line{lineKey: key, lane: l, items: btree.New(degree, func(a, b *item) bool { return a.place < b.place })}
		l.lines[key] = of
		l.toEnd(of)
	}
	of.items.ReplaceOrInsert(it)
	it.line = of
	l.size++
}

// first returns the next line among those of the allowed namespaces; nil if there is none.
func (l *lane) first(allowed func(namespace string) bool) *line {
	var out *line
	l.order.Ascend(func(of *line) bool {
		if allowed(of.namespace) {
			out = of
		}
		return out == nil
	})
	return out
}

// pop takes the first item of a line, which ends the line's turn.
func (l *line) pop() *item {
	it, _ := l.items.Min()
	l.lane.order.Delete(l)
	l.lane.toEnd(l)
	it.leave()
	return it
}

// leave removes an item from its lane.
func (it *item) leave() {
	of := it.line
	of.items.Delete(it)
	it.line = nil
	of.lane.size--
	if of.items.Len() == 0 {
		of.lane.order.Delete(of)
		delete(of.lane.lines, of.lineKey)
	}
}

// toEnd moves a line behind all others of its priority.
func (l *lane) toEnd(of *line) {
	l.turns++
	of.turn = l.turns
	l.order.ReplaceOrInsert(of)
}
