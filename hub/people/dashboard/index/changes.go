package index

import (
	"time"

	"fairlead.dev/hub/people/view/applications"
)

// Gone is the state of what is not there any more.
const Gone = "Gone"

// Change says that a cluster or an application came into another state.
type Change struct {
	At time.Time
	// Cluster names a cluster; empty if the change is of an application.
	Cluster string
	// Application and Template name an application; empty if the change is of a cluster.
	Application Key
	Template    applications.Template
	// From is empty if it is not known.
	From, To string
	// Why is a sentence; empty if there is nothing to say.
	Why string
}

// maxChanges is how many are remembered.
const maxChanges = 500

// changes is a ring of the last of them.
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

// Changes returns up to so many of the changes that a person may see, the latest first.
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
