package main

// change is what is done to templates.
type change string

const (
	creation change = "create"
	update   change = "update"
	removal  change = "delete"
)

func changes() []change { return []change{creation, update, removal} }

// step is one on the way of a change, in the order in which they come.
type step int

const (
	// written : the API server has answered the author.
	written step = iota
	// bound : the binding shows the change.
	bound
	// placed : the binding has its clusters.
	placed
	// dispatched : the Works show the change.
	dispatched
	// arrived : the members' objects do.
	arrived
	// settled : the members have done what the objects ask for.
	settled
	// reported : the Works say so.
	reported
	// shown : the binding says so, and the template if its kind has a status.
	shown
)

// String says what was seen.
func (s step) String() string {
	return [...]string{
		"the author is answered", "the binding", "its clusters", "the Works", "in all members", "settled in all members", "reported by all", "the status on the hub",
	}[s]
}

// steps are those of a change: what is deleted has no status.
func steps(c change) []step {
	switch c {
	case creation:
		return []step{written, bound, placed, dispatched, arrived, settled, reported, shown}
	case update:
		return []step{written, bound, dispatched, arrived, settled, reported, shown}
	default:
		return []step{written, bound, dispatched, arrived, shown}
	}
}

// inEachMember says whether a step is one of each member.
func (s step) inEachMember() bool {
	switch s {
	case dispatched, arrived, settled, reported:
		return true
	default:
		return false
	}
}

// counts says whether a change is done only with that step. The others are watched only where
// single changes are measured.
func (s step) counts() bool { return s == arrived || s == settled || s == shown }
