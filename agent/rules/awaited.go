package rules

import "time"

const (
	// patience is how long the agent waits for a hub that serves Works but not the rules: lists take their time on a
	// slow network, and a hub that is starting may briefly refuse what it allows afterwards.
	patience = time.Minute
	// askEvery is how often the agent meanwhile checks whether the hub refuses, and askTimeout the timeout of one
	// check.
	askEvery   = 15 * time.Second
	askTimeout = 10 * time.Second
)

const (
	neverRead = "the hub's interpreter customizations and webhook configurations, which say which fields of the object belong to the member, " +
		"were never read here; the object is left as it is until the hub can be reached"
	notReadYet = "the hub's interpreter customizations and webhook configurations, which say which fields of the object belong to the member, " +
		"were not read yet; the object is left as it is until the hub lists both"
)

// awaited returns why a Work has to wait before it changes the member, and whether to report that to people.
// journaled says that the Work comes from the journal, kept that rules of an earlier read are known, read that the
// hub's rules were read since the start, and late that the hub's time to serve them is over.
func awaited(journaled, kept, read, late bool) (why string, lasts bool) {
	switch {
	case read, kept && (journaled || late):
		return "", false
	case journaled:
		return neverRead, false // there is no hub to report to
	default:
		return notReadYet, late
	}
}
