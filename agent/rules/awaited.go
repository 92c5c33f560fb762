package rules

import "time"

const (
	// patience is how long the hub is waited for that has Works and does not say what kinds mean: on a slow network the lists take their
	// time, and a hub that starts may refuse for a moment what it gives afterwards.
	patience = time.Minute
	// askEvery is how often it is asked meanwhile whether it refuses, and askTimeout how long that may take.
	askEvery   = 15 * time.Second
	askTimeout = 10 * time.Second
)

const (
	neverRead = "the hub's interpreter customizations and webhook configurations, which say what of the object belongs to the member, " +
		"were never read here; it is left as it is until the hub can be asked"
	notReadYet = "the hub's interpreter customizations and webhook configurations, which say what of the object belongs to the member, " +
		"were not read yet; it is left as it is until they are, for which the hub has to answer lists of both"
)

// awaited says why a Work, as the journal or as the hub has it, waits before it changes what the member has, and whether people are to be told.
// Kept says that it is known what kinds meant before the agent started, read that the hub said it since, and late that it has had its time.
func awaited(journaled, kept, read, late bool) (why string, lasts bool) {
	switch {
	case read, kept && (journaled || late):
		return "", false
	case journaled:
		return neverRead, false // there is nobody to tell
	default:
		return notReadYet, late
	}
}
