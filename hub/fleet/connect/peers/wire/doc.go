// Package wire is the protocol in which one replica of the hub reports its lines to another: JSON messages, one per
// line of text.
//
// A stream starts with all lines of the replica, in as many messages as needed, the last of which has Synced set.
// Changes follow, and a heartbeat every second. Times are sent as ages, so the clocks of two machines need not agree.
package wire
