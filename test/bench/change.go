package main

// change is an operation on templates.
type change string

const (
	creation change = "create"
	update   change = "update"
	removal  change = "delete"
)

func changes() []change { return []change{creation, update, removal} }

// step is a stage of a change's way, in order.
type step int

const (
	// written : the API server has answered the author's request.
	written step = iota
	// bound : the binding has the change.
	bound
	// placed : the binding has its clusters.
	placed
	// dispatched : the Works have the change.
	dispatched
	// arrived : the objects in the members have the change.
	arrived
	// settled : the members have reached the desired state.
	settled
	// reported : the status of the Works says so.
	reported
	// shown : the status of the binding says so, and that of the template if its kind has one.
	shown
)

// String describes the step.
func (s step) String() string {
	return [...]string{
		"the author is answered", "the binding", "its clusters", "the Works", "in all members", "settled in all members", "reported by all", "the status on the hub",
	}[s]
}

// steps returns the steps of a change; deleted objects have no status.
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

// inEachMember reports whether a step happens once per member.
func (s step) inEachMember() bool {
	switch s {
	case dispatched, arrived, settled, reported:
		return true
	default:
		return false
	}
}

// counts reports whether a change is done only after that step. The other steps are watched only for single changes.
func (s step) counts() bool { return s == arrived || s == settled || s == shown }
