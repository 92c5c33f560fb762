// Package wire is what one replica of the hub tells another about its lines: messages of JSON, a line of text each.
//
// A stream begins with all lines of the replica, in as many messages as that takes, of which the last has Synced. Then come changes, and a Beat
// every second. Times travel as ages, so the clocks of two machines need not agree.
package wire
