package index

import (
	"time"

	"fairlead.dev/hub/people/view/applications"
)

// Gone is the state of an object that was deleted.
const Gone = "Gone"

// Change is a change of the state of a cluster or an application.
type Change struct {
	At time.Time
	// Cluster is the name of the cluster; empty if the change is of an application.
	Cluster string
	// Application and Template identify the application; empty if the change is of a cluster.
	Application Key
	Template    applications.Template
	// From and To are the states; From is empty if unknown.
	From, To string
	// Why is the reason in a sentence; it may be empty.
	Why string
}

// maxChanges is how many changes are remembered.
const maxChanges = 500

// changes is a ring buffer of the latest changes.
type changes struct {
	ring []Change
	next int
}

func (c *changes) add(one Change) {
	if len(c.ring) < maxChanges {
		c.ring = append(c.ring, one)
		return
	}
	c.ring[c.next] = one
	c.next = (c.next + 1) % maxChanges
}

// Changes returns the latest visible changes, at most that many, the latest first.
func (x *Index) Changes(most int, visible func(Change) bool) []Change {
	x.mu.Lock()
	defer x.mu.Unlock()
	var out []Change
	n := len(x.changes.ring)
	for i := range n {
		one := x.changes.ring[(x.changes.next+n-1-i)%n]
		if len(out) == most {
			break
		}
		if visible(one) {
			out = append(out, one)
		}
	}
	return out
}
